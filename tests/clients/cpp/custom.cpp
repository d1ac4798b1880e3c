// Custom operators: from CustomOpBase, with and without statuses, and from functions and structs of the lite header.
#include "client.h"

#include <onnxruntime_lite_custom_op.h>

#include <memory>

namespace client
{
namespace
{

const auto FLOAT = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;

size_t count_of(const Ort::ConstValue &v) { return v.GetTensorTypeAndShapeInfo().GetElementCount(); }

// -- Blend: scale * (x + low) + bias[0] + table[0], where low and bias may be absent ---------------------------------------

struct Seen {
    std::string mode, node, inputs;
    std::vector<int64_t> steps;
    std::vector<float> weights;
    int constants = 0, inferred = 0;
};
Seen seen;

class BlendKernel
{
  public:
    explicit BlendKernel(const OrtKernelInfo *raw)
    {
        const Ort::ConstKernelInfo info{ raw };
        Ort::AllocatorWithDefaultOptions heap;
        scale_ = info.GetAttribute<float>("scale");
        table_ = info.GetTensorAttribute("table", heap).GetTensorData<float>()[0];
        seen.mode = info.GetAttribute<std::string>("mode");
        seen.steps = info.GetAttributes<int64_t>("steps");
        seen.weights = info.GetAttributes<float>("weights");
        seen.node = info.GetNodeName();
        for (size_t i = 0; i < info.GetInputCount(); i++) seen.inputs += info.GetInputName(i) + ";";
        int constant = 0;
        if (info.GetInputCount() == 3) info.GetTensorConstantInput(2, &constant);
        seen.constants += constant;
        const Ort::Logger logger = info.GetLogger();
        ORT_CXX_LOGF(logger, ORT_LOGGING_LEVEL_WARNING, "blend by %g", static_cast<double>(scale_));
    }

    void Compute(OrtKernelContext *raw) const
    {
        const Ort::KernelContext context(raw);
        const Ort::ConstValue x = context.GetInput(0);
        const float low = optional(context, 1), bias = optional(context, 2);
        Ort::UnownedValue y = context.GetOutput(0, x.GetTensorTypeAndShapeInfo().GetShape());
        for (size_t i = 0; i < count_of(x); i++)
            y.GetTensorMutableData<float>()[i] = scale_ * (x.GetTensorData<float>()[i] + low) + bias + table_;
    }

  private:
    static float optional(const Ort::KernelContext &context, size_t i)
    {
        if (i >= context.GetInputCount()) return 0;
        const Ort::ConstValue v = context.GetInput(i);
        return v ? v.GetTensorData<float>()[0] : 0;
    }

    float scale_, table_;
};

struct Blend : Ort::CustomOpBase<Blend, BlendKernel> {
    void *CreateKernel(const OrtApi &, const OrtKernelInfo *info) const { return new BlendKernel(info); }
    const char *GetName() const { return "Blend"; }
    size_t GetInputTypeCount() const { return 3; }
    ONNXTensorElementDataType GetInputType(size_t) const { return FLOAT; }
    OrtCustomOpInputOutputCharacteristic GetInputCharacteristic(size_t i) const
    {
        return i ? INPUT_OUTPUT_OPTIONAL : INPUT_OUTPUT_REQUIRED;
    }
    size_t GetOutputTypeCount() const { return 1; }
    ONNXTensorElementDataType GetOutputType(size_t) const { return FLOAT; }
    static Ort::Status InferOutputShape(Ort::ShapeInferContext &context)
    {
        // 1.21's header reads past the end of a text.
        const bool mode = ORT_API_VERSION < 22 || context.GetAttrString("mode") == "sum";
        seen.inferred += mode && context.GetAttrFloat("scale") == 2 && context.GetAttrInts("steps") == Shape{ 1, 2 } &&
                         context.GetAttrFloats("weights").size() == 2;
        return context.SetOutputShape(0, context.GetInputShape(0), FLOAT);
    }
};

// -- Plus: ONNX's own Add, called from a kernel whose functions answer statuses ------------------------------------------

class PlusKernel
{
  public:
    explicit PlusKernel(const OrtKernelInfo *info)
    {
        const char *name = "T";
        add_ = Ort::Op::Create(info, "Add", "", 14, &name, &FLOAT, 1, nullptr, 0, 2, 1);
    }

    OrtStatusPtr ComputeV2(OrtKernelContext *raw)
    try {
        const Ort::KernelContext context(raw);
        const Ort::ConstValue a = context.GetInput(0), b = context.GetInput(1);
        if (count_of(a) != count_of(b)) return Ort::Status("Plus wants equal lengths", ORT_INVALID_ARGUMENT).release();
        const Ort::UnownedValue y = context.GetOutput(0, a.GetTensorTypeAndShapeInfo().GetShape());
        const OrtValue *in[] = { a, b };
        OrtValue *out[] = { y };
        add_.Invoke(raw, in, 2, out, 1);
        return nullptr;
    } catch (const Ort::Exception &e) {
        return Ort::Status(e).release();
    }

  private:
    Ort::Op add_{ nullptr };
};

struct Plus : Ort::CustomOpBase<Plus, PlusKernel, true> {
    OrtStatusPtr CreateKernelV2(const OrtApi &, const OrtKernelInfo *info, void **out) const
    {
        *out = new PlusKernel(info);
        return nullptr;
    }
    const char *GetName() const { return "Plus"; }
    size_t GetInputTypeCount() const { return 2; }
    ONNXTensorElementDataType GetInputType(size_t) const { return FLOAT; }
    size_t GetOutputTypeCount() const { return 1; }
    ONNXTensorElementDataType GetOutputType(size_t) const { return FLOAT; }
};

// -- the lite header ---------------------------------------------------------------------------------------------------

void mix(const Ort::Custom::Tensor<float> &a, std::optional<const Ort::Custom::Tensor<float> *> b,
         Ort::Custom::Tensor<float> &out)
{
    float *y = out.Allocate(a.Shape());
    for (int64_t i = 0; i < a.NumberOfElement(); i++) y[i] = a.Data()[i] + (b ? (*b)->Data()[i] : 100);
}

Ort::Status refuse(const Ort::Custom::Tensor<float> &, Ort::Custom::Tensor<float> &)
{
    return Ort::Status("no wish to", ORT_NOT_IMPLEMENTED);
}

void fall(const Ort::Custom::Tensor<float> &, Ort::Custom::Tensor<float> &)
{
    throw Ort::Exception("fell over", ORT_RUNTIME_EXCEPTION);
}

struct Repeat {
    Repeat(const OrtApi *, const OrtKernelInfo *info) : times(Ort::ConstKernelInfo(info).GetAttribute<int64_t>("times"))
    {
    }
    void Compute(const Ort::Custom::Tensor<std::string> &in, Ort::Custom::Tensor<std::string> &out)
    {
        std::vector<std::string> all;
        for (const std::string &s : in.Data()) {
            all.emplace_back();
            for (int64_t i = 0; i < times; i++) all.back() += s;
        }
        out.SetStringOutput(all, in.Shape());
    }
    int64_t times;
};

Ort::Status keep_shape(Ort::ShapeInferContext &context)
{
    return context.SetOutputShape(0, context.GetInputShape(0), FLOAT);
}

// -- the checks --------------------------------------------------------------------------------------------------------

struct Operators {
    Operators()
    {
        using Ort::Custom::CreateLiteCustomOp;
        lite.emplace_back(CreateLiteCustomOp("Mix", "CPUExecutionProvider", mix, keep_shape));
        lite.emplace_back(CreateLiteCustomOp<Repeat>("Repeat", "CPUExecutionProvider"));
        lite.emplace_back(CreateLiteCustomOp("Refuse", "CPUExecutionProvider", refuse));
        lite.emplace_back(CreateLiteCustomOp("Fall", "CPUExecutionProvider", fall));
        domain.Add(&blend);
        domain.Add(&plus);
        for (const auto &op : lite) domain.Add(op.get());
        options.Add(domain);
    }

    Blend blend;
    Plus plus;
    std::vector<std::unique_ptr<Ort::Custom::OrtLiteCustomOp>> lite;
    Ort::CustomOpDomain domain{ "test.cpp" };
    Ort::SessionOptions options;
};

void bases(const Context &c, const Operators &ops)
{
    std::vector<float> x{ 1, 2 };
    std::vector<Ort::Value> in;
    in.push_back(tensor(x, { 2 }));
    c.check("operators from CustomOpBase", [&] {
        Ort::Session s = c.open("cpp_custom", ops.options);
        // 2 x + bias 3 + table 10, and 2 (x + 3) + 10.
        return equal(run(s, { "x" }, in, { "y" })[0], { 2 + 13 + 2 + 16, 4 + 13 + 4 + 16 });
    });
    c.check("what their kernels were told", [] {
        return seen.mode == "sum" && seen.steps == Shape{ 1, 2 } && seen.weights == std::vector<float>{ 0.5f, 0.25f } &&
               seen.node == "second" && seen.inputs.find("x;") == 0 && seen.constants == 1;
    });
    c.check("what their kernels said", [&] { return std::count(c.said.begin(), c.said.end(), "blend by 2") == 2; });
    c.check("and when shapes were inferred", [] { return seen.inferred >= 2; });
    c.check.throws("a status of a kernel", ORT_INVALID_ARGUMENT, [&] {
        Ort::Session s = c.open("cpp_plus", ops.options);
        std::vector<float> y{ 1, 2, 3 };
        std::vector<Ort::Value> two;
        two.push_back(tensor(x, { 2 }));
        two.push_back(tensor(y, { 3 }));
        run(s, { "a", "b" }, two, { "y" });
    });
}

void lites(const Context &c, const Operators &ops)
{
    std::vector<float> a{ 1, 2 }, b{ 3, 4 };
    std::vector<Ort::Value> in;
    in.push_back(tensor(a, { 2 }));
    in.push_back(tensor(b, { 2 }));
    in.push_back(strings({ "ab", "c" }));
    c.check("operators from functions and structs", [&] {
        Ort::Session s = c.open("cpp_lite", ops.options);
        const auto out = run(s, { "a", "b", "s" }, in, { "both", "alone", "t" });
        return equal(out[0], { 4, 6 }) && equal(out[1], { 101, 102 }) && out[2].GetStringTensorElement(0) == "ababab" &&
               out[2].GetStringTensorElement(1) == "ccc";
    });
    in.erase(in.begin() + 1, in.end());
    c.check.throws("a function that refuses", ORT_NOT_IMPLEMENTED, [&] {
        Ort::Session s = c.open("cpp_refuse", ops.options);
        run(s, { "a" }, in, { "y" });
    });
    c.check("a function that throws", [&] {
        Ort::Session s = c.open("cpp_fall", ops.options);
        try {
            run(s, { "a" }, in, { "y" });
        } catch (const Ort::Exception &e) {
            return std::string(e.what()).find("fell over") != std::string::npos;
        }
        return false;
    });
    c.check("an operator nobody has", [&] {
        try {
            c.open("cpp_fall");
        } catch (const Ort::Exception &e) {
            return std::string(e.what()).find("Fall") != std::string::npos;
        }
        return false;
    });
}

} // namespace

void custom(const Context &c)
{
    const Operators ops;
    bases(c, ops);
    lites(c, ops);
}

} // namespace client
