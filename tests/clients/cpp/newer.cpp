// What the header of API 22 and later adds: models made in code, pairs of texts, compilation, copies between tensors.
#include "client.h"

namespace client
{

#if ORT_API_VERSION >= 22

namespace
{

std::vector<Ort::Value> one(std::vector<float> &x)
{
    std::vector<Ort::Value> in;
    in.push_back(tensor(x, { static_cast<int64_t>(x.size()) }));
    return in;
}

Ort::ValueInfo port(const char *name, const Shape &shape, const std::vector<std::string> &symbols)
{
    const Ort::TensorTypeAndShapeInfo info(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, shape, &symbols);
    const Ort::TypeInfo type = Ort::TypeInfo::CreateTensorInfo(info.GetConst());
    return Ort::ValueInfo(name, type.GetConst());
}

void ports(Ort::Graph &graph, const char *from, const char *to)
{
    std::vector<Ort::ValueInfo> in, out;
    in.push_back(port(from, { -1 }, { "n" }));
    out.push_back(port(to, { -1 }, { "n" }));
    graph.SetInputs(in);
    graph.SetOutputs(out);
}

// y = LeakyRelu(x, alpha) * by
Ort::Model leaky_model(std::vector<float> &by)
{
    Ort::Graph graph;
    ports(graph, "x", "y");
    const float alpha = 0.5f;
    std::vector<Ort::OpAttr> attributes;
    attributes.emplace_back("alpha", &alpha, 1, ORT_OP_ATTR_FLOAT);
    Ort::Node leaky("LeakyRelu", "", "leaky", { "x" }, { "t" }, attributes);
    Ort::Node times("Mul", "", "times", { "t", "by" }, { "y" });
    Ort::AllocatorWithDefaultOptions heap;
    const int64_t n = static_cast<int64_t>(by.size());
    Ort::Value factor = Ort::Value::CreateTensor<float>(heap, &n, 1);
    std::copy(by.begin(), by.end(), factor.GetTensorMutableData<float>());
    graph.AddInitializer("by", factor, false);
    graph.AddNode(leaky);
    graph.AddNode(times);
    Ort::Model model({ { "", 17 } });
    model.AddGraph(graph);
    return model;
}

void editor(const Context &c)
{
    std::vector<float> x{ -2, 4 }, by{ 10 };
    c.check("a model made in code", [&] {
        Ort::Session s(c.env, leaky_model(by), Ort::SessionOptions());
        const Ort::TypeInfo type = s.GetInputTypeInfo(0);
        const char *symbol = nullptr;
        type.GetTensorTypeAndShapeInfo().GetSymbolicDimensions(&symbol, 1);
        return s.GetInputNames() == std::vector<std::string>{ "x" } && std::string(symbol) == "n" &&
               equal(run(s, { "x" }, one(x), { "y" })[0], { -10, 40 });
    });
    c.check("a model that goes on", [&] {
        Ort::Session s = Ort::Session::CreateModelEditorSession(c.env, c.path("scale").c_str(), Ort::SessionOptions());
        Ort::Graph graph;
        Ort::Node negate("Neg", "", "negate", { "y" }, { "z" });
        std::vector<Ort::ValueInfo> out;
        out.push_back(port("z", { -1 }, { "n" }));
        graph.SetOutputs(out);
        graph.AddNode(negate);
        Ort::Model model({ { "", s.GetOpset("") } });
        model.AddGraph(graph);
        s.FinalizeModelEditorSession(model, Ort::SessionOptions(), nullptr);
        return equal(run(s, { "x" }, one(x), { "z" })[0], { 4, -8 });
    });
    c.check("a node that cannot be", [&] {
        Ort::Graph graph;
        ports(graph, "x", "y");
        Ort::Node node("NoSuchThing", "", "node", { "x" }, { "y" });
        graph.AddNode(node);
        Ort::Model model({ { "", 17 } });
        model.AddGraph(graph);
        try {
            Ort::Session(c.env, model, Ort::SessionOptions());
        } catch (const Ort::Exception &e) {
            return std::string(e.what()).find("NoSuchThing") != std::string::npos;
        }
        return false;
    });
}

void pairs(const Context &c)
{
    c.check("pairs of texts", [] {
        Ort::KeyValuePairs kept({ { "a", "1" }, { "b", "2" } });
        kept.Add("c", "3");
        kept.Remove("a");
        const auto all = kept.GetKeyValuePairs();
        return all.size() == 2 && all.at("c") == "3" && !kept.GetValue("a") && std::string(kept.GetValue("b")) == "2";
    });
}

void compiling(const Context &c)
{
    c.check("a model compiled into memory", [&] {
        Ort::AllocatorWithDefaultOptions heap;
        Ort::ModelCompilationOptions o(c.env, Ort::SessionOptions());
        void *model = nullptr;
        size_t size = 0;
        o.SetInputModelPath(c.path("scale").c_str()).SetOutputModelBuffer(heap, &model, &size);
        Ort::ThrowOnError(Ort::CompileModel(c.env, o));
        std::vector<float> x{ 3 };
        Ort::Session s(c.env, model, size, Ort::SessionOptions());
        heap.Free(model);
        return equal(run(s, { "x" }, one(x), { "y" })[0], { 6 });
    });
}

void devices(const Context &c)
{
    c.check("the processor is a device", [&] {
        const auto all = c.env.GetEpDevices();
        return std::any_of(all.begin(), all.end(), [](const Ort::ConstEpDevice &d) {
            return std::string(d.EpName()) == "CPUExecutionProvider" && d.Device().Type() == OrtHardwareDeviceType_CPU;
        });
    });
#if ORT_API_VERSION >= 23
    c.check("inputs and outputs of a session", [&] {
        const Ort::Session s = c.open("add");
        return s.GetInputs().at(1).GetName() == "b" && s.GetOutputs().at(0).GetName() == "c" &&
               s.GetMemoryInfoForInputs().size() == 2 && s.GetMemoryInfoForOutputs().size() == 1;
    });
    c.check("a copy between tensors", [&] {
        std::vector<float> from{ 1, 2 }, to(2);
        Ort::ThrowOnError(c.env.CopyTensors(one(from), one(to), nullptr));
        return to == from;
    });
    c.check("a registered allocator", [&] {
        Ort::AllocatorWithDefaultOptions heap;
        return const_cast<Ort::Env &>(c.env).GetSharedAllocator(heap.GetInfo()) != nullptr;
    });
#endif
}

} // namespace

void newer(const Context &c)
{
    editor(c);
    pairs(c);
    compiling(c);
    devices(c);
}

#else

void newer(const Context &) {}

#endif

} // namespace client
