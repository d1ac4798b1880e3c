// Values: tensors of each type through a model, texts, sequences, maps and sparse tensors.
#include "client.h"

#include <array>

namespace client
{
namespace
{

// std::vector<bool> has no data() to point at.
template <typename T> using Four = std::array<T, 4>;

template <typename T> bool same(const Context &c, const char *type, Four<T> data)
{
    Ort::Session s = c.open(std::string("same_") + type);
    std::vector<Ort::Value> in;
    in.push_back(tensor(data, { 2, 2 }));
    const Ort::Value out = std::move(run(s, { "x" }, in, { "y" })[0]);
    const auto info = out.GetTensorTypeAndShapeInfo();
    return info.GetShape() == Shape{ 2, 2 } && info.GetElementType() == Ort::TypeToTensorType<T>::type &&
           std::equal(data.begin(), data.end(), out.GetTensorData<T>());
}

void types(const Context &c)
{
    c.check("float", [&] { return same<float>(c, "float", { 1, -2, 0.5f, 3e38f }); });
    c.check("double", [&] { return same<double>(c, "double", { 1, -2, 0.5, 1e308 }); });
    c.check("bool", [&] { return same<bool>(c, "bool", { true, false, false, true }); });
    c.check("int8", [&] { return same<int8_t>(c, "int8", { -128, 0, 1, 127 }); });
    c.check("int16", [&] { return same<int16_t>(c, "int16", { INT16_MIN, 0, 1, INT16_MAX }); });
    c.check("int32", [&] { return same<int32_t>(c, "int32", { INT32_MIN, 0, 1, INT32_MAX }); });
    c.check("int64", [&] { return same<int64_t>(c, "int64", { INT64_MIN, 0, 1, INT64_MAX }); });
    c.check("uint8", [&] { return same<uint8_t>(c, "uint8", { 0, 1, 2, UINT8_MAX }); });
    c.check("uint16", [&] { return same<uint16_t>(c, "uint16", { 0, 1, 2, UINT16_MAX }); });
    c.check("uint32", [&] { return same<uint32_t>(c, "uint32", { 0, 1, 2, UINT32_MAX }); });
    c.check("uint64", [&] { return same<uint64_t>(c, "uint64", { 0, 1, 2, UINT64_MAX }); });
    c.check("float16", [&] {
        using Half = Ort::Float16_t;
        return same<Half>(c, "float16", { Half(1.5f), Half(-2.f), Half(0.f), Half(65504.f) });
    });
    c.check("bfloat16", [&] {
        using Half = Ort::BFloat16_t;
        return same<Half>(c, "bfloat16", { Half(1.5f), Half(-2.f), Half(0.f), Half(1e30f) });
    });
}

void texts(const Context &c)
{
    c.check("texts", [&] {
        Ort::Session s = c.open("same_string");
        const Shape shape{ 1, 2 };
        Ort::AllocatorWithDefaultOptions heap;
        std::vector<Ort::Value> in;
        in.push_back(Ort::Value::CreateTensor(heap, shape.data(), 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING));
        in[0].FillStringTensorElement("déjà", 0);
        std::copy_n("vu", 2, in[0].GetResizedStringTensorElementBuffer(1, 2));
        const Ort::Value out = std::move(run(s, { "x" }, in, { "y" })[0]);
        return out.GetStringTensorElement(0) == "déjà" && out.GetStringTensorElement(1) == "vu";
    });
    c.check("texts in one piece", [] {
        const Ort::Value v = strings({ "ab", "", "cde" });
        std::string all(v.GetStringTensorDataLength(), ' ');
        size_t at[3];
        v.GetStringTensorContent(&all[0], all.size(), at, 3);
        return all == "abcde" && at[1] == 2 && at[2] == 2 && v.GetStringTensorElementLength(2) == 3;
    });
    c.check.throws("an element past the end", ORT_INVALID_ARGUMENT, [] { strings({ "a" }).GetStringTensorElement(3); });
}

void tensors(const Context &c)
{
    c.check("a view of elements", [] {
        std::vector<float> data{ 1, 2, 3, 4, 5, 6 };
        Ort::Value v = tensor(data, { 2, 3 });
        v.At<float>({ 1, 1 }) = 50;
        return data[4] == 50 && v.IsTensor() && v.HasValue() && !v.IsSparseTensor();
    });
    c.check("no elements", [&] {
        Ort::Session s = c.open("same_float");
        std::vector<float> none;
        std::vector<Ort::Value> in;
        in.push_back(tensor(none, { 0, 2 }));
        return run(s, { "x" }, in, { "y" })[0].GetTensorTypeAndShapeInfo().GetShape() == Shape{ 0, 2 };
    });
    c.check("a sparse tensor", [] {
        std::array<float, 2> data{ 7, 8 };
        std::array<int64_t, 2> at{ 1, 5 };
        const Shape dense{ 2, 3 }, count{ 2 };
        Ort::AllocatorWithDefaultOptions heap;
        Ort::Value v = Ort::Value::CreateSparseTensor<float>(heap, { dense.data(), 2 });
        v.FillSparseTensorCoo(cpu(), { count.data(), 1, { data.data() } }, at.data(), at.size());
        size_t n = 0;
        const int64_t *indices = v.GetSparseTensorIndicesData<int64_t>(ORT_SPARSE_COO_INDICES, n);
        return v.IsSparseTensor() && v.GetSparseFormat() == ORT_SPARSE_COO && n == 2 && indices[1] == 5 &&
               v.GetSparseTensorValues<float>()[1] == 8;
    });
}

void containers(const Context &c)
{
    Ort::AllocatorWithDefaultOptions heap;
    std::vector<float> a{ 1, 2 }, b{ 3, 4, 5 };
    std::vector<Ort::Value> pair;
    pair.push_back(tensor(a, { 2 }));
    pair.push_back(tensor(b, { 3 }));
    c.check("a sequence from a model", [&] {
        Ort::Session s = c.open("sequence");
        const Ort::Value out = std::move(run(s, { "a", "b" }, pair, { "s" })[0]);
        return out.GetTypeInfo().GetONNXType() == ONNX_TYPE_SEQUENCE && out.GetCount() == 2 &&
               equal(out.GetValue(1, heap), b);
    });
    c.check("a sequence to a model", [&] {
        Ort::Session s = c.open("sequence_at");
        int64_t one = 1;
        std::vector<Ort::Value> in;
        in.push_back(Ort::Value::CreateSequence(pair));
        in.push_back(Ort::Value::CreateTensor<int64_t>(cpu(), &one, 1, nullptr, 0));
        return equal(run(s, { "s", "i" }, in, { "y" })[0], b);
    });
    c.check("a map of ours", [&] {
        std::vector<int64_t> keys{ 10, 20 };
        const Ort::Value map = Ort::Value::CreateMap(tensor(keys, { 2 }), pair[0]);
        return map.GetTypeInfo().GetONNXType() == ONNX_TYPE_MAP && content<int64_t>(map.GetValue(0, heap)) == keys &&
               equal(map.GetValue(1, heap), a);
    });
    c.check("maps from a model", [&] {
        Ort::Session s = c.open("map_string");
        std::vector<float> x{ 1, 2, 3, 4 };
        std::vector<Ort::Value> in;
        in.push_back(tensor(x, { 2, 2 }));
        const Ort::Value out = std::move(run(s, { "x" }, in, { "m" })[0]);
        const Ort::Value map = out.GetValue(1, heap);
        return out.GetCount() == 2 && map.GetValue(0, heap).GetStringTensorElement(1) == "b" &&
               equal(map.GetValue(1, heap), { 3, 4 });
    });
}

} // namespace

void values(const Context &c)
{
    types(c);
    texts(c);
    tensors(c);
    containers(c);
}

} // namespace client
