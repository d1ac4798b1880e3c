/* A program for the Java package: every tensor type, sequences, maps, metadata, options and errors.
 * Usage: Client FOLDER-OF-MODELS */
import ai.onnxruntime.*;
import java.nio.*;
import java.util.*;
import java.util.function.Function;

public class Client {
    interface Check {
        void run() throws Exception;
    }

    static int passed, failed;
    static final OrtEnvironment env = OrtEnvironment.getEnvironment("client");
    static String folder;

    static void check(String name, Check body) {
        try {
            body.run();
            passed++;
        } catch (Throwable t) {
            failed++;
            System.out.println("FAILED " + name + ": " + t);
        }
    }

    static void same(Object got, Object want) {
        if (!Objects.deepEquals(got, want))
            throw new RuntimeException("got " + show(got) + ", want " + show(want));
    }

    static String show(Object o) {
        return o instanceof Object[] ? Arrays.deepToString((Object[]) o) : String.valueOf(o);
    }

    static OrtSession open(String name) throws OrtException {
        return env.createSession(folder + "/" + name + ".onnx", new OrtSession.SessionOptions());
    }

    static void refused(String part, OrtException.OrtErrorCode code, Check body) throws Exception {
        try {
            body.run();
        } catch (OrtException e) {
            if (code != null) same(e.getCode(), code);
            if (!e.getMessage().contains(part)) throw new RuntimeException("message: " + e.getMessage());
            return;
        }
        throw new RuntimeException("was not refused");
    }

    static void type(String name, Object value) {
        check("type " + name, () -> {
            try (OrtSession s = open("same_" + name); OnnxTensor x = OnnxTensor.createTensor(env, value);
                 OrtSession.Result r = s.run(Map.of("x", x))) {
                same(r.get(0).getValue(), value);
                same(((TensorInfo) r.get(0).getInfo()).getShape(), new long[] {2, 2});
            }
        });
    }

    static void half(String name, OnnxJavaType type) {
        check("type " + name, () -> {
            ShortBuffer data = ByteBuffer.allocateDirect(8).order(ByteOrder.nativeOrder()).asShortBuffer();
            data.put(new short[] {0x3c00, 0x4000, 0x4200, 0x4400}).rewind();
            try (OrtSession s = open("same_" + name);
                 OnnxTensor x = OnnxTensor.createTensor(env, data, new long[] {2, 2}, type);
                 OrtSession.Result r = s.run(Map.of("x", x))) {
                same(((OnnxTensor) r.get(0)).getByteBuffer().order(ByteOrder.nativeOrder()).asShortBuffer().get(3), (short) 0x4400);
                same(((TensorInfo) r.get(0).getInfo()).type, type);
            }
        });
    }

    static void types() {
        type("float", new float[][] {{1, 2}, {3, 4}});
        type("double", new double[][] {{1, 2}, {3, 4}});
        type("int8", new byte[][] {{1, -2}, {3, 4}});
        type("int16", new short[][] {{1, -2}, {3, 4}});
        type("int32", new int[][] {{1, -2}, {3, 4}});
        type("int64", new long[][] {{1, -2}, {3, 4}});
        type("bool", new boolean[][] {{true, false}, {false, true}});
        type("string", new String[][] {{"a", ""}, {"Grüße", "d"}});
        half("float16", OnnxJavaType.FLOAT16);
        half("bfloat16", OnnxJavaType.BFLOAT16);
        check("type uint8", () -> {
            ByteBuffer data = ByteBuffer.allocateDirect(4).put(new byte[] {1, 2, 3, -1});
            data.rewind();
            try (OrtSession s = open("same_uint8");
                 OnnxTensor x = OnnxTensor.createTensor(env, data, new long[] {2, 2}, OnnxJavaType.UINT8);
                 OrtSession.Result r = s.run(Map.of("x", x))) {
                same(r.get(0).getValue(), new byte[][] {{1, 2}, {3, -1}});
            }
        });
    }

    static void containers() {
        check("sequence", () -> {
            try (OrtSession s = open("sequence"); OnnxTensor a = OnnxTensor.createTensor(env, new float[] {1, 2});
                 OnnxTensor b = OnnxTensor.createTensor(env, new float[] {3, 4, 5});
                 OrtSession.Result r = s.run(Map.of("a", a, "b", b))) {
                List<? extends OnnxValue> list = ((OnnxSequence) r.get("s").get()).getValue();
                same(list.size(), 2);
                same(list.get(1).getValue(), new float[] {3, 4, 5});
                same(((SequenceInfo) r.get("s").get().getInfo()).isSequenceOfMaps(), false);
            }
        });
        for (String name : new String[] {"map_int", "map_string"})
            check(name, () -> {
                Object key = name.equals("map_int") ? (Object) 5L : "b";
                try (OrtSession s = open(name); OnnxTensor x = OnnxTensor.createTensor(env, new float[][] {{1, 2}, {3, 4}});
                     OrtSession.Result r = s.run(Map.of("x", x))) {
                    OnnxMap m = (OnnxMap) ((OnnxSequence) r.get(0)).getValue().get(1);
                    same(m.getValue().get(key), 4f);
                    same(m.size(), 2);
                }
            });
    }

    static void sparse() {
        check("sparse", () -> {
            LongBuffer at = ByteBuffer.allocateDirect(16).order(ByteOrder.nativeOrder()).asLongBuffer();
            FloatBuffer values = ByteBuffer.allocateDirect(8).order(ByteOrder.nativeOrder()).asFloatBuffer();
            at.put(new long[] {1, 5}).rewind();
            values.put(new float[] {7, 8}).rewind();
            OnnxSparseTensor.COOTensor coo = new OnnxSparseTensor.COOTensor(at, new long[] {2}, values, new long[] {2, 3},
                    OnnxJavaType.FLOAT, 2);
            try (OnnxSparseTensor t = OnnxSparseTensor.createSparseTensor(env, coo)) {
                same(t.getSparseTensorType(), OnnxSparseTensor.SparseTensorType.COO);
                same(((LongBuffer) t.getIndicesBuffer()).get(1), 5L);
                same(((FloatBuffer) t.getValuesBuffer()).get(1), 8f);
            }
        });
    }

    static void facts() {
        check("metadata", () -> {
            try (OrtSession s = open("add")) {
                OnnxModelMetadata m = s.getMetadata();
                same(m.getProducerName(), "clients");
                same(m.getGraphName(), "add");
                same(m.getDescription(), "a small model");
                same(m.getDomain(), "test.clients");
                same(m.getVersion(), 7L);
                same(m.getCustomMetadata(), Map.of("key", "value", "other", "thing"));
                same(s.getInputNames(), new LinkedHashSet<>(List.of("a", "b")));
                TensorInfo a = (TensorInfo) s.getInputInfo().get("a").getInfo();
                same(a.getShape(), new long[] {-1, 3});
                same(a.getDimensionNames(), new String[] {"n", ""});
                same(a.type, OnnxJavaType.FLOAT);
            }
        });
        check("environment", () -> {
            same(OrtEnvironment.getAvailableProviders().contains(OrtProvider.CPU), true);
            same(env.getVersion().startsWith("1."), true);
        });
    }

    static float[] scaled(OrtSession s, OrtSession.RunOptions ro) throws OrtException {
        try (OnnxTensor x = OnnxTensor.createTensor(env, new float[] {1, 2});
             OrtSession.Result r = ro == null ? s.run(Map.of("x", x)) : s.run(Map.of("x", x), ro)) {
            return (float[]) r.get(0).getValue();
        }
    }

    static void options() {
        check("session options", () -> {
            try (OrtSession.SessionOptions o = new OrtSession.SessionOptions()) {
                o.setOptimizationLevel(OrtSession.SessionOptions.OptLevel.BASIC_OPT);
                o.setExecutionMode(OrtSession.SessionOptions.ExecutionMode.SEQUENTIAL);
                o.setIntraOpNumThreads(1);
                o.setInterOpNumThreads(2);
                o.setMemoryPatternOptimization(true);
                o.setCPUArenaAllocator(false);
                o.setSessionLogLevel(OrtLoggingLevel.ORT_LOGGING_LEVEL_ERROR);
                o.setSessionLogVerbosityLevel(2);
                o.setLoggerId("client");
                o.addConfigEntry("session.set_denormal_as_zero", "1");
                o.setSymbolicDimensionValue("n", 2);
                o.setDeterministicCompute(true);
                o.addCPU(true);
                try (OrtSession s = env.createSession(folder + "/scale.onnx", o)) {
                    same(scaled(s, null), new float[] {2, 4});
                    same(((TensorInfo) s.getInputInfo().get("x").getInfo()).getShape(), new long[] {2});
                }
            }
        });
        check("from bytes", () -> {
            byte[] bytes = java.nio.file.Files.readAllBytes(java.nio.file.Path.of(folder, "scale.onnx"));
            try (OrtSession s = env.createSession(bytes, new OrtSession.SessionOptions())) {
                same(scaled(s, null), new float[] {2, 4});
            }
        });
        check("an initializer of the caller's", () -> {
            try (OrtSession.SessionOptions o = new OrtSession.SessionOptions();
                 OnnxTensor two = OnnxTensor.createTensor(env, ByteBuffer.allocateDirect(4).order(ByteOrder.nativeOrder())
                         .asFloatBuffer().put(0, 5f), new long[] {1})) {
                o.addInitializer("two", two);
                try (OrtSession s = env.createSession(folder + "/scale.onnx", o)) {
                    same(scaled(s, null), new float[] {5, 10});
                }
            }
        });
        check("external initializers", () -> {
            byte[] bytes = java.nio.file.Files.readAllBytes(java.nio.file.Path.of(folder, "scale_external.onnx"));
            try (OrtSession.SessionOptions o = new OrtSession.SessionOptions();
                 OnnxTensor two = OnnxTensor.createTensor(env, new float[] {7})) {
                o.addExternalInitializers(Map.of("two", two));
                try (OrtSession s = env.createSession(bytes, o)) {
                    same(scaled(s, null), new float[] {7, 14});
                }
            }
        });
        check("run options", () -> {
            try (OrtSession s = open("scale"); OrtSession.RunOptions ro = new OrtSession.RunOptions()) {
                ro.setRunTag("tag");
                same(ro.getRunTag(), "tag");
                ro.setLogLevel(OrtLoggingLevel.ORT_LOGGING_LEVEL_FATAL);
                ro.addRunConfigEntry("some.key", "1");
                same(scaled(s, ro), new float[] {2, 4});
                ro.setTerminate(true);
                refused("terminate flag", null, () -> scaled(s, ro));
                ro.setTerminate(false);
                same(scaled(s, ro), new float[] {2, 4});
            }
        });
        check("pinned outputs", () -> {
            try (OrtSession s = open("scale"); OnnxTensor x = OnnxTensor.createTensor(env, new float[] {1, 2});
                 OnnxTensor y = OnnxTensor.createTensor(env, ByteBuffer.allocateDirect(8).order(ByteOrder.nativeOrder())
                         .asFloatBuffer(), new long[] {2});
                 OrtSession.Result r = s.run(Map.of("x", x), Set.of(), Map.of("y", y))) {
                same(y.getValue(), new float[] {2, 4});
            }
        });
    }

    static void errors() {
        check("no such file", () -> refused("", OrtException.OrtErrorCode.ORT_NO_SUCHFILE, () -> open("nowhere")));
        check("no model", () -> refused("protobuf", OrtException.OrtErrorCode.ORT_INVALID_PROTOBUF,
                () -> env.createSession("this is no model".getBytes(), new OrtSession.SessionOptions())));
        check("unknown input", () -> refused("", null, () -> {
            try (OrtSession s = open("scale"); OnnxTensor x = OnnxTensor.createTensor(env, new float[] {1})) {
                s.run(Map.of("nobody", x));
            }
        }));
        check("wrong type", () -> refused("Unexpected input data type", OrtException.OrtErrorCode.ORT_INVALID_ARGUMENT, () -> {
            try (OrtSession s = open("scale"); OnnxTensor x = OnnxTensor.createTensor(env, new long[] {1})) {
                s.run(Map.of("x", x));
            }
        }));
        check("wrong rank", () -> refused("Invalid rank for input", OrtException.OrtErrorCode.ORT_INVALID_ARGUMENT, () -> {
            try (OrtSession s = open("scale"); OnnxTensor x = OnnxTensor.createTensor(env, new float[][] {{1}})) {
                s.run(Map.of("x", x));
            }
        }));
        check("wrong size", () -> refused("Got invalid dimensions for input", OrtException.OrtErrorCode.ORT_INVALID_ARGUMENT, () -> {
            try (OrtSession s = open("add"); OnnxTensor a = OnnxTensor.createTensor(env, new float[][] {{1, 2}});
                 OnnxTensor b = OnnxTensor.createTensor(env, new float[] {1, 2, 3})) {
                s.run(Map.of("a", a, "b", b));
            }
        }));
        check("no library", () -> refused("Failed to load", null,
                () -> new OrtSession.SessionOptions().registerCustomOpLibrary("/nowhere/lib.so")));
        check("no provider", () -> refused("", null, () -> new OrtSession.SessionOptions().addCUDA(0)));
    }

    public static void main(String[] args) {
        folder = args[0];
        types();
        containers();
        sparse();
        facts();
        options();
        errors();
        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed == 0 ? 0 : 1);
    }
}
