//! A program for the `ort` crate with `load-dynamic`: types, bindings, containers, operators of our own, errors.
//! Usage: client FOLDER-OF-MODELS (and ORT_DYLIB_PATH says which library)
use ort::editor::{Graph, Model, Node, Opset, ONNX_DOMAIN};
use ort::operator::{BoxedKernel, ComputeContext, KernelContext, Operator, OperatorDomain, OperatorInput, OperatorOutput};
use ort::session::{builder::SessionBuilder, RunOptions, Session};
use ort::value::{Outlet, Shape, SymbolicDimensions, Tensor, TensorElementType, ValueType};

type Outcome = Result<(), Box<dyn std::error::Error>>;

struct Checks {
    env: ort::environment::Environment,
    folder: String,
    passed: usize,
    failed: usize,
}

impl Checks {
    fn check(&mut self, name: &str, body: impl FnOnce(&Self) -> Outcome) {
        match body(self) {
            Ok(()) => self.passed += 1,
            Err(e) => {
                self.failed += 1;
                println!("FAILED {name}: {e}");
            }
        }
    }

    fn path(&self, model: &str) -> String {
        format!("{}/{model}.onnx", self.folder)
    }

    fn open(&self, model: &str) -> Result<Session, Box<dyn std::error::Error>> {
        Ok(Session::builder(&self.env)?.commit_from_file(self.path(model))?)
    }
}

fn same<T: PartialEq + std::fmt::Debug>(got: T, want: T) -> Outcome {
    if got == want {
        Ok(())
    } else {
        Err(format!("got {got:?}, want {want:?}").into())
    }
}

fn refused<T>(got: ort::Result<T>, part: &str) -> Outcome {
    match got {
        Ok(_) => Err("was not refused".into()),
        Err(e) if e.to_string().contains(part) => Ok(()),
        Err(e) => Err(format!("message: {e}").into()),
    }
}

macro_rules! types {
    ($checks:expr, $($model:literal $t:ty),+) => {$(
        $checks.check(concat!("type ", $model), |c| {
            let data: Vec<$t> = [1u8, 2, 3, 4].iter().map(|&v| v as $t).collect();
            let mut s = c.open(concat!("same_", $model))?;
            let out = s.run(ort::inputs!["x" => Tensor::from_array(([2usize, 2], data.clone()))?])?;
            let (shape, got) = out["y"].try_extract_tensor::<$t>()?;
            same(shape.to_vec(), vec![2, 2])?;
            same(got.to_vec(), data)
        });
    )+};
}

/// test.custom.Twice: x times an attribute.
struct Twice;

impl Operator for Twice {
    type Kernel<'attr> = BoxedKernel<'attr>;

    fn name(&self) -> &str {
        "Twice"
    }
    fn inputs(&self) -> impl IntoIterator<Item = OperatorInput> {
        [OperatorInput::required(TensorElementType::Float32)]
    }
    fn outputs(&self) -> impl IntoIterator<Item = OperatorOutput> {
        [OperatorOutput::required(TensorElementType::Float32)]
    }
    fn create_kernel<'attr>(&self, info: &KernelContext<'attr>) -> ort::Result<Self::Kernel<'attr>> {
        let times: f32 = info.get("times").ok_or_else(|| ort::Error::new("no `times`"))?;
        let sizes: Vec<i64> = info.get("sizes").ok_or_else(|| ort::Error::new("no `sizes`"))?;
        if info.inputs()?.len() != 1 || sizes != [4, 5] {
            return Err(ort::Error::new("the node is another"));
        }
        Ok(Box::new(move |ctx: &ComputeContext| {
            let x = ctx.input(0)?.ok_or_else(|| ort::Error::new("no input"))?;
            let (shape, x) = x.try_extract_tensor::<f32>()?;
            let mut y = ctx.output(0, shape.to_vec())?.ok_or_else(|| ort::Error::new("no output"))?;
            for (to, from) in y.try_extract_tensor_mut::<f32>()?.1.iter_mut().zip(x) {
                *to = from * times;
            }
            Ok(())
        }))
    }
}

/// test.custom.Shout: strings in capitals.
struct Shout;

impl Operator for Shout {
    type Kernel<'attr> = BoxedKernel<'attr>;

    fn name(&self) -> &str {
        "Shout"
    }
    fn inputs(&self) -> impl IntoIterator<Item = OperatorInput> {
        [OperatorInput::required(TensorElementType::String)]
    }
    fn outputs(&self) -> impl IntoIterator<Item = OperatorOutput> {
        [OperatorOutput::required(TensorElementType::String)]
    }
    fn create_kernel<'attr>(&self, _: &KernelContext<'attr>) -> ort::Result<Self::Kernel<'attr>> {
        Ok(Box::new(|_: &ComputeContext| Err(ort::Error::new("this kernel fails"))))
    }
}

/// test.custom.Sum: any number of tensors.
struct Sum;

impl Operator for Sum {
    type Kernel<'attr> = BoxedKernel<'attr>;

    fn name(&self) -> &str {
        "Sum"
    }
    fn inputs(&self) -> impl IntoIterator<Item = OperatorInput> {
        [OperatorInput::variadic(1).homogenous(TensorElementType::Float32)]
    }
    fn outputs(&self) -> impl IntoIterator<Item = OperatorOutput> {
        [OperatorOutput::required(TensorElementType::Float32)]
    }
    fn create_kernel<'attr>(&self, _: &KernelContext<'attr>) -> ort::Result<Self::Kernel<'attr>> {
        Ok(Box::new(|ctx: &ComputeContext| {
            let first = ctx.input(0)?.ok_or_else(|| ort::Error::new("no input"))?;
            let shape = first.try_extract_tensor::<f32>()?.0.to_vec();
            let mut y = ctx.output(0, shape)?.ok_or_else(|| ort::Error::new("no output"))?;
            let y = y.try_extract_tensor_mut::<f32>()?.1;
            y.fill(0.0);
            for i in 0..ctx.num_inputs()? {
                let x = ctx.input(i)?.ok_or_else(|| ort::Error::new("no input"))?;
                for (to, from) in y.iter_mut().zip(x.try_extract_tensor::<f32>()?.1) {
                    *to += from;
                }
            }
            Ok(())
        }))
    }
}

fn main() {
    let folder = std::env::args().nth(1).expect("a folder of models");
    let env = ort::init().with_name("client").build().expect("an environment");
    let mut c = Checks { env, folder, passed: 0, failed: 0 };
    types!(c, "float" f32, "double" f64, "int8" i8, "int16" i16, "int32" i32, "int64" i64, "uint8" u8, "uint16" u16,
           "uint32" u32, "uint64" u64);

    c.check("strings", |c| {
        let mut s = c.open("same_string")?;
        let x = Tensor::from_string_array(([2usize, 2], &["a", "", "Grüße", "d"][..]))?;
        let out = s.run(ort::inputs!["x" => x])?;
        same(out["y"].try_extract_strings()?.1, ["a", "", "Grüße", "d"].map(String::from).to_vec())
    });
    c.check("float16", |c| {
        let data: Vec<half::f16> = [1.0, 2.0, 3.0, 4.0].map(half::f16::from_f32).to_vec();
        let mut s = c.open("same_float16")?;
        let out = s.run(ort::inputs!["x" => Tensor::from_array(([2usize, 2], data.clone()))?])?;
        same(out["y"].try_extract_tensor::<half::f16>()?.1.to_vec(), data)
    });
    c.check("facts", |c| {
        let s = c.open("add")?;
        same(s.inputs().iter().map(|i| i.name().to_string()).collect::<Vec<_>>(), vec!["a".to_string(), "b".to_string()])?;
        let m = s.metadata()?;
        same(m.producer(), Some("clients".to_string()))?;
        same(m.version(), Some(7))?;
        same(m.custom("key"), Some("value".to_string()))
    });
    c.check("binding", |c| {
        let mut s = c.open("scale")?;
        let mut b = s.create_binding()?;
        b.bind_input("x", &Tensor::from_array(([2usize], vec![1f32, 2.0]))?)?;
        b.bind_output_to_device("y", &s.allocator().memory_info())?;
        let out = s.run_binding(&b)?;
        same(out["y"].try_extract_tensor::<f32>()?.1.to_vec(), vec![2.0, 4.0])
    });
    c.check("map", |c| {
        let mut s = c.open("map_string")?;
        let out = s.run(ort::inputs!["x" => Tensor::from_array(([1usize, 2], vec![1f32, 2.0]))?])?;
        let list = out["m"].try_extract_sequence::<ort::value::DynMapValueType>()?;
        same(list[0].try_extract_map::<String, f32>()?.get("b").copied(), Some(2.0))
    });
    c.check("terminated", |c| {
        let mut s = c.open("forever")?;
        let ro = std::sync::Arc::new(RunOptions::new()?);
        let other = ro.clone();
        let stop = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(50));
            other.terminate().unwrap();
        });
        let got = s.run_with_options(ort::inputs!["x" => Tensor::from_array(([1usize], vec![1f32]))?], &*ro);
        stop.join().unwrap();
        refused(got, "Exiting due to terminate flag being set to true.")
    });
    c.check("own operators", |c| {
        let domain = OperatorDomain::new("test.custom")?.add(Twice)?.add(Sum)?.add(Shout)?;
        let mut s = Session::builder(&c.env)?.with_operators(domain)?.commit_from_file(c.path("custom"))?;
        let x = Tensor::from_array(([2usize], vec![1f32, 2.0]))?;
        let t = Tensor::from_string_array(([1usize], &["a"][..]))?;
        refused(s.run(ort::inputs!["x" => x, "s" => t]), "this kernel fails")
    });
    c.check("built model", |c| {
        let vector = |name: &str| {
            let shape = Shape::new([3]);
            let ty = TensorElementType::Float32;
            Outlet::new(name, ValueType::Tensor { ty, shape, dimension_symbols: SymbolicDimensions::empty(1) })
        };
        let mut graph = Graph::new()?;
        graph.set_inputs([vector("x")])?;
        graph.set_outputs([vector("y")])?;
        graph.add_node(Node::new("Mul", ONNX_DOMAIN, "mul", ["x", "w"], ["y"], [])?)?;
        let mut w = Tensor::<f32>::new(&ort::memory::Allocator::default(), [3i64])?;
        w.extract_tensor_mut().1.copy_from_slice(&[1.0, 2.0, 3.0]);
        graph.add_initializer("w", w, false)?;
        let mut model = Model::new([Opset::new(ONNX_DOMAIN, 17)?])?;
        model.set_graph(graph)?;
        let mut s = model.into_session(&SessionBuilder::new(&c.env)?)?;
        let out = s.run(ort::inputs!["x" => Tensor::from_array(([3usize], vec![2f32; 3]))?])?;
        same(out["y"].try_extract_tensor::<f32>()?.1.to_vec(), vec![2.0, 4.0, 6.0])
    });
    c.check("no such file", |c| refused(Session::builder(&c.env)?.commit_from_file("/nowhere.onnx"), ""));
    c.check("wrong type", |c| {
        let mut s = c.open("scale")?;
        refused(s.run(ort::inputs!["x" => Tensor::from_array(([1usize], vec![1i64]))?]), "Unexpected input data type")
    });
    println!("{} passed, {} failed", c.passed, c.failed);
    std::process::exit((c.failed > 0) as i32);
}
