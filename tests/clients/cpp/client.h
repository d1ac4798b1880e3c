// What the parts of this program share: where the models lie, the count of checks, and short ways to make values.
#pragma once

#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace client
{

using Shape = std::vector<int64_t>;

class Checks
{
  public:
    // Counts `body` as passed when it returns true, and as failed when it returns false or throws.
    template <typename Body> void operator()(const char *name, Body &&body)
    {
        std::string why = "false";
        try {
            if (body()) {
                passed_++;
                return;
            }
        } catch (const std::exception &e) {
            why = e.what();
        }
        failed_++;
        std::printf("FAILED %s: %s\n", name, why.c_str());
    }

    // `body` must throw an Ort::Exception with this code and a message.
    template <typename Body> void throws(const char *name, OrtErrorCode code, Body &&body)
    {
        (*this)(name, [&] {
            try {
                body();
            } catch (const Ort::Exception &e) {
                if (e.GetOrtErrorCode() != code) std::printf("code %d: %s\n", e.GetOrtErrorCode(), e.what());
                return e.GetOrtErrorCode() == code && *e.what();
            }
            return false;
        });
    }

    int passed() const { return passed_; }
    int failed() const { return failed_; }

  private:
    int passed_ = 0, failed_ = 0;
};

struct Context {
    const Ort::Env &env;
    std::string folder;
    Checks &check;
    const std::vector<std::string> &said; // what came to the log

    std::string path(const std::string &model) const { return folder + "/" + model + ".onnx"; }
    Ort::Session open(const std::string &model, const Ort::SessionOptions &options = Ort::SessionOptions()) const
    {
        return Ort::Session(env, path(model).c_str(), options);
    }
};

inline Ort::MemoryInfo cpu() { return Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault); }

// A tensor over `data`, which must outlive it.
template <typename Data> Ort::Value tensor(Data &data, const Shape &shape)
{
    return Ort::Value::CreateTensor<typename Data::value_type>(cpu(), data.data(), data.size(), shape.data(),
                                                               shape.size());
}

inline Ort::Value strings(const std::vector<const char *> &text)
{
    const int64_t n = static_cast<int64_t>(text.size());
    Ort::AllocatorWithDefaultOptions heap;
    Ort::Value v = Ort::Value::CreateTensor(heap, &n, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING);
    v.FillStringTensor(text.data(), text.size());
    return v;
}

template <typename T> std::vector<T> content(const Ort::Value &v)
{
    const T *data = v.GetTensorData<T>();
    return std::vector<T>(data, data + v.GetTensorTypeAndShapeInfo().GetElementCount());
}

inline bool equal(const Ort::Value &v, const std::vector<float> &want) { return content<float>(v) == want; }

// A run by name of a session's inputs; the outputs in the order asked for.
inline std::vector<Ort::Value> run(Ort::Session &session, const std::vector<const char *> &names,
                                   const std::vector<Ort::Value> &values, const std::vector<const char *> &outputs,
                                   const Ort::RunOptions &options = Ort::RunOptions())
{
    return session.Run(options, names.data(), values.data(), values.size(), outputs.data(), outputs.size());
}

void sessions(const Context &c);
void values(const Context &c);
void custom(const Context &c);
void newer(const Context &c);

} // namespace client
