// Sessions: how they are opened, what they tell of themselves, how they run and how they fail.
#include "client.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <future>
#include <iterator>
#include <thread>

namespace client
{
namespace
{

std::vector<char> bytes_of(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    return std::vector<char>(std::istreambuf_iterator<char>(file), {});
}

std::vector<Ort::Value> floats(std::vector<float> &data)
{
    std::vector<Ort::Value> out;
    out.push_back(tensor(data, { static_cast<int64_t>(data.size()) }));
    return out;
}

bool scales_by(Ort::Session session, float factor)
{
    std::vector<float> x{ 1, 3 };
    return equal(run(session, { "x" }, floats(x), { "y" })[0], { factor, 3 * factor });
}

// -- what a session tells ----------------------------------------------------------------------------------------------

void ports(const Context &c)
{
    Ort::AllocatorWithDefaultOptions heap;
    c.check("names", [&] {
        const Ort::Session s = c.open("add");
        return s.GetInputCount() == 2 && s.GetOutputCount() == 1 &&
               std::string(s.GetInputNameAllocated(1, heap).get()) == "b" &&
               std::string(s.GetOutputNameAllocated(0, heap).get()) == "c";
    });
    c.check("types and shapes", [&] {
        const Ort::Session s = c.open("add");
        const Ort::TypeInfo type = s.GetInputTypeInfo(0);
        const auto info = type.GetTensorTypeAndShapeInfo();
        const char *symbols[2];
        info.GetSymbolicDimensions(symbols, 2);
        return type.GetONNXType() == ONNX_TYPE_TENSOR && info.GetElementType() == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT &&
               info.GetShape() == Shape{ -1, 3 } && std::string(symbols[0]) == "n" && !*symbols[1];
    });
    c.check("sequence and map types", [&] {
        const Ort::TypeInfo of = c.open("map_string").GetOutputTypeInfo(0);
        const Ort::TypeInfo element = of.GetSequenceTypeInfo().GetSequenceElementType();
        const auto map = element.GetMapTypeInfo();
        const Ort::TypeInfo mapped = map.GetMapValueType();
        return of.GetONNXType() == ONNX_TYPE_SEQUENCE && map.GetMapKeyType() == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING &&
               mapped.GetTensorTypeAndShapeInfo().GetElementType() == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    });
    c.check("an initializer that may be given", [&] {
        const Ort::Session s = c.open("scale");
        return s.GetOverridableInitializerCount() == 1 &&
               std::string(s.GetOverridableInitializerNameAllocated(0, heap).get()) == "two" &&
               s.GetOverridableInitializerTypeInfo(0).GetTensorTypeAndShapeInfo().GetShape() == Shape{ 1 };
    });
}

void metadata(const Context &c)
{
    c.check("metadata", [&] {
        Ort::AllocatorWithDefaultOptions heap;
        const Ort::ModelMetadata m = c.open("scale").GetModelMetadata();
        const auto keys = m.GetCustomMetadataMapKeysAllocated(heap);
        const Ort::AllocatedStringPtr value = m.LookupCustomMetadataMapAllocated("key", heap);
        return std::string(m.GetProducerNameAllocated(heap).get()) == "clients" &&
               std::string(m.GetGraphNameAllocated(heap).get()) == "scale" &&
               std::string(m.GetDomainAllocated(heap).get()) == "test.clients" &&
               std::string(m.GetDescriptionAllocated(heap).get()) == "a small model" &&
               std::string(m.GetGraphDescriptionAllocated(heap).get()) == "the graph of scale" && m.GetVersion() == 7 &&
               keys.size() == 2 && std::string(value.get()) == "value" &&
               !m.LookupCustomMetadataMapAllocated("no", heap);
    });
}

// -- how it is opened --------------------------------------------------------------------------------------------------

void opening(const Context &c)
{
    c.check("from memory", [&] {
        const std::vector<char> model = bytes_of(c.path("scale"));
        return scales_by(Ort::Session(c.env, model.data(), model.size(), Ort::SessionOptions()), 2);
    });
    c.check("options", [&] {
        Ort::SessionOptions o;
        o.SetIntraOpNumThreads(2).SetInterOpNumThreads(1).SetExecutionMode(ORT_SEQUENTIAL).SetLogId("a session");
        o.SetGraphOptimizationLevel(ORT_ENABLE_EXTENDED).DisableCpuMemArena().EnableCpuMemArena().DisableMemPattern();
        o.EnableMemPattern().SetLogSeverityLevel(3).AddConfigEntry("session.intra_op.allow_spinning", "0");
        Ort::SessionOptions copy = o.Clone();
        return copy.HasConfigEntry("session.intra_op.allow_spinning") &&
               copy.GetConfigEntry("session.intra_op.allow_spinning") == "0" &&
               copy.GetConfigEntryOrDefault("none", "else") == "else" && scales_by(c.open("scale", copy), 2);
    });
    c.check("the optimized model on disk", [&] {
        const std::string path = c.folder + "/cpp_optimized.onnx";
        Ort::SessionOptions o;
        o.SetOptimizedModelFilePath(path.c_str());
        return scales_by(c.open("scale", o), 2) && scales_by(c.open("cpp_optimized"), 2);
    });
    c.check("a profile", [&] {
        Ort::AllocatorWithDefaultOptions heap;
        Ort::SessionOptions o;
        o.EnableProfiling((c.folder + "/cpp_profile").c_str());
        Ort::Session s = c.open("scale", o);
        std::vector<float> x{ 1 };
        run(s, { "x" }, floats(x), { "y" });
        const std::string path = s.EndProfilingAllocated(heap).get();
        const bool full = s.GetProfilingStartTimeNs() > 0 && bytes_of(path).size() > 2;
        return std::remove(path.c_str()) == 0 && full;
    });
    c.check("an initializer of ours", [&] {
        std::vector<float> five{ 5 };
        const std::vector<Ort::Value> value = floats(five);
        Ort::SessionOptions o;
        o.AddInitializer("two", value[0]);
        return scales_by(c.open("scale", o), 5);
    });
    c.check("external initializers as values", [&] {
        std::vector<float> six{ 6 };
        Ort::SessionOptions o;
        o.AddExternalInitializers({ "two" }, floats(six));
        return scales_by(c.open("scale_external", o), 6);
    });
    c.check("external initializers as files in memory", [&] {
        std::vector<char> file = bytes_of(c.folder + "/scale_external.bin");
        const std::vector<char> model = bytes_of(c.path("scale_external"));
        Ort::SessionOptions o;
        o.AddExternalInitializersFromFilesInMemory({ "scale_external.bin" }, { file.data() }, { file.size() });
        return scales_by(Ort::Session(c.env, model.data(), model.size(), o), 2);
    });
}

// -- how it runs -------------------------------------------------------------------------------------------------------

void running(const Context &c)
{
    c.check("outputs of ours", [&] {
        Ort::Session s = c.open("scale");
        std::vector<float> x{ 1, 2 }, y(2);
        const std::vector<Ort::Value> in = floats(x);
        std::vector<Ort::Value> out = floats(y);
        const char *in_name = "x", *out_name = "y";
        s.Run(Ort::RunOptions(), &in_name, in.data(), 1, &out_name, out.data(), 1);
        return y == std::vector<float>{ 2, 4 };
    });
    c.check("run options", [&] {
        Ort::Session s = c.open("scale");
        std::vector<float> x{ 1 };
        Ort::RunOptions o;
        o.SetRunTag("a run").SetRunLogSeverityLevel(3).SetRunLogVerbosityLevel(1).AddConfigEntry("key", "value");
        return equal(run(s, { "x" }, floats(x), { "y" }, o)[0], { 2 }) && std::string(o.GetRunTag()) == "a run" &&
               o.GetRunLogSeverityLevel() == 3 && o.GetRunLogVerbosityLevel() == 1;
    });
    c.check("in the background", [&] {
        Ort::Session s = c.open("scale");
        std::vector<float> x{ 4 }, y(1);
        const std::vector<Ort::Value> in = floats(x);
        std::vector<Ort::Value> out = floats(y);
        const char *in_name = "x", *out_name = "y";
        std::promise<bool> done;
        const auto callback = [](void *data, OrtValue **, size_t n, OrtStatusPtr status) {
            static_cast<std::promise<bool> *>(data)->set_value(Ort::Status(status).IsOK() && n == 1);
        };
        s.RunAsync(Ort::RunOptions(nullptr), &in_name, in.data(), 1, &out_name, out.data(), 1, callback, &done);
        return done.get_future().get() && y[0] == 8;
    });
}

void terminating(const Context &c)
{
    Ort::Session forever = c.open("forever"), scale = c.open("scale");
    Ort::RunOptions options;
    std::vector<float> x{ 1 };
    c.check.throws("a run is stopped", ORT_FAIL, [&] {
        std::thread other([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
            options.SetTerminate();
        });
        try {
            run(forever, { "x" }, floats(x), { "y" }, options);
        } catch (...) {
            other.join();
            throw;
        }
        other.join();
    });
    c.check("and may run again", [&] {
        options.UnsetTerminate();
        return equal(run(scale, { "x" }, floats(x), { "y" }, options)[0], { 2 });
    });
}

void bindings(const Context &c)
{
    Ort::Session s = c.open("scale");
    std::vector<float> x{ 1, 2 }, y(2);
    const std::vector<Ort::Value> in = floats(x), out = floats(y);
    c.check("bound to values", [&] {
        Ort::IoBinding b(s);
        b.BindInput("x", in[0]);
        b.BindOutput("y", out[0]);
        b.SynchronizeInputs();
        s.Run(Ort::RunOptions(), b);
        b.SynchronizeOutputs();
        return y == std::vector<float>{ 2, 4 } && b.GetOutputNames() == std::vector<std::string>{ "y" };
    });
    c.check("bound to memory", [&] {
        Ort::IoBinding b(s);
        b.BindInput("x", in[0]);
        b.BindOutput("y", cpu());
        s.Run(Ort::RunOptions(), b);
        const std::vector<Ort::Value> made = b.GetOutputValues();
        b.ClearBoundInputs();
        b.ClearBoundOutputs();
        return made.size() == 1 && equal(made[0], { 2, 4 }) && b.GetOutputNames().empty();
    });
    c.check.throws("a binding to no input", ORT_FAIL, [&] {
        Ort::IoBinding b(s);
        b.BindInput("none", in[0]);
    });
}

// -- how it fails ------------------------------------------------------------------------------------------------------

void failures(const Context &c)
{
    Ort::Session s = c.open("add");
    std::vector<float> a{ 1, 2, 3 };
    std::vector<int64_t> whole{ 1, 2, 3 };
    const auto run_with = [&](Ort::Value first, const char *name, const char *output) {
        std::vector<Ort::Value> in;
        in.push_back(std::move(first));
        in.push_back(tensor(a, { 3 }));
        run(s, { name, "b" }, in, { output });
    };
    c.check.throws("no such file", ORT_NO_SUCHFILE, [&] { c.open("none"); });
    c.check.throws("no model", ORT_INVALID_PROTOBUF,
                   [&] { Ort::Session(c.env, "no model", 8, Ort::SessionOptions()); });
    c.check.throws("no such input", ORT_INVALID_ARGUMENT, [&] { run_with(tensor(a, { 1, 3 }), "none", "c"); });
    c.check.throws("no such output", ORT_INVALID_ARGUMENT, [&] { run_with(tensor(a, { 1, 3 }), "a", "none"); });
    c.check.throws("another type", ORT_INVALID_ARGUMENT, [&] { run_with(tensor(whole, { 1, 3 }), "a", "c"); });
    c.check.throws("another rank", ORT_INVALID_ARGUMENT, [&] { run_with(tensor(a, { 3 }), "a", "c"); });
    c.check.throws("too little data", ORT_INVALID_ARGUMENT, [&] { tensor(a, { 2, 3 }); });
    c.check.throws("no such provider", ORT_INVALID_ARGUMENT,
                   [&] { Ort::SessionOptions().AppendExecutionProvider("Abacus", {}); });
    c.check.throws("no such library", ORT_FAIL,
                   [&] { Ort::SessionOptions().RegisterCustomOpsLibrary((c.folder + "/none.so").c_str()); });
    c.check.throws("an unset entry", ORT_INVALID_ARGUMENT, [&] { Ort::SessionOptions().GetConfigEntry("none"); });
}

} // namespace

void sessions(const Context &c)
{
    ports(c);
    metadata(c);
    opening(c);
    running(c);
    terminating(c);
    bindings(c);
    failures(c);
}

} // namespace client
