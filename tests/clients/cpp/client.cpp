// A C++ program written against ONNX Runtime's official C++ header: what its wrapper asks of the library must be there.
// Usage: client FOLDER-OF-MODELS
#include "client.h"

#include <atomic>
#include <cstring>
#include <thread>

namespace
{

using namespace client;

// -- what belongs to the process ---------------------------------------------------------------------------------------

std::atomic<int> started{ 0 };

OrtCustomThreadHandle start(void *count, OrtThreadWorkerFn work, void *arg)
{
    ++*static_cast<std::atomic<int> *>(count);
    return reinterpret_cast<OrtCustomThreadHandle>(new std::thread([=] { work(arg); }));
}

void join(OrtCustomThreadHandle handle)
{
    auto *thread = reinterpret_cast<std::thread *>(const_cast<OrtCustomHandleType *>(handle));
    thread->join();
    delete thread;
}

bool scales(Ort::Session session)
{
    std::vector<float> x{ 1, 2, 3 };
    std::vector<Ort::Value> in;
    in.push_back(tensor(x, { 3 }));
    return equal(run(session, { "x" }, in, { "y" })[0], { 2, 4, 6 });
}

// An environment of its own: it must be gone before the one of the other checks is made.
void global_pools(const std::string &folder, Checks &check)
{
    check("threads of the environment", [&] {
        Ort::ThreadingOptions threads;
        threads.SetGlobalIntraOpNumThreads(2).SetGlobalInterOpNumThreads(1).SetGlobalSpinControl(0);
        threads.SetGlobalDenormalAsZero();
        const Ort::Env env(threads, ORT_LOGGING_LEVEL_WARNING, "pools");
        Ort::SessionOptions options;
        options.DisablePerSessionThreads();
        return scales(Ort::Session(env, (folder + "/scale.onnx").c_str(), options));
    });
}

void own_threads(const Context &c)
{
    c.check("threads that we start", [&] {
        Ort::SessionOptions options;
        options.SetIntraOpNumThreads(3).SetCustomCreateThreadFn(start).SetCustomJoinThreadFn(join);
        options.SetCustomThreadCreationOptions(&started);
        return scales(c.open("scale", options)) && started == 2;
    });
}

void about(Checks &check)
{
    check("version, build and providers", [] {
        const std::vector<std::string> providers = Ort::GetAvailableProviders();
        return !Ort::GetVersionString().empty() && !Ort::GetBuildInfoString().empty() &&
               std::count(providers.begin(), providers.end(), "CPUExecutionProvider") == 1;
    });
    check("a status", [] {
        const Ort::Status good, bad("a reason", ORT_FAIL), from(Ort::Exception("thrown", ORT_NO_MODEL));
        return good.IsOK() && !bad.IsOK() && bad.GetErrorMessage() == "a reason" && bad.GetErrorCode() == ORT_FAIL &&
               from.GetErrorCode() == ORT_NO_MODEL;
    });
}

// -- memory ------------------------------------------------------------------------------------------------------------

struct CountingAllocator : OrtAllocator {
    CountingAllocator() : OrtAllocator{}
    {
        version = ORT_API_VERSION;
        Alloc = [](OrtAllocator *self, size_t n) -> void * {
            static_cast<CountingAllocator *>(self)->blocks++;
            return ::operator new(n);
        };
        Free = [](OrtAllocator *self, void *p) {
            static_cast<CountingAllocator *>(self)->blocks -= p != nullptr;
            ::operator delete(p);
        };
        Info = [](const OrtAllocator *self) -> const OrtMemoryInfo * {
            return static_cast<const CountingAllocator *>(self)->info;
        };
    }

    std::atomic<int> blocks{ 0 };
    Ort::MemoryInfo info = cpu();
};

void memory(const Context &c)
{
    c.check("the default allocator", [] {
        Ort::AllocatorWithDefaultOptions heap;
        Ort::MemoryAllocation block = heap.GetAllocation(100);
        std::memset(block.get(), 1, block.size());
        void *other = heap.Alloc(8);
        heap.Free(other);
        return block.size() == 100 && other && heap.GetInfo().GetAllocatorName() == "Cpu";
    });
    c.check("a description of memory", [] {
        const Ort::MemoryInfo here("Cpu", OrtDeviceAllocator, 0, OrtMemTypeDefault);
        return here == Ort::MemoryInfo("Cpu", OrtDeviceAllocator, 0, OrtMemTypeDefault) && here.GetDeviceId() == 0 &&
               here.GetAllocatorType() == OrtDeviceAllocator && here.GetMemoryType() == OrtMemTypeDefault &&
               here.GetDeviceType() == OrtMemoryInfoDeviceType_CPU;
    });
    c.check("an allocator of a session", [&] {
        const Ort::Session session = c.open("scale");
        Ort::Allocator heap(session, cpu());
        const int64_t n = 5;
        Ort::Value v = Ort::Value::CreateTensor<double>(heap, &n, 1);
        std::fill_n(v.GetTensorMutableData<double>(), n, 1.5);
        return content<double>(v) == std::vector<double>(5, 1.5) &&
               v.GetTensorMemoryInfo().GetDeviceType() == OrtMemoryInfoDeviceType_CPU;
    });
    c.check("an allocator of ours", [] {
        CountingAllocator own;
        const int64_t n = 3;
        Ort::Value v = Ort::Value::CreateTensor<float>(&own, &n, 1);
        const bool held = own.blocks == 1 && v.GetTensorMutableData<float>();
        v = Ort::Value(nullptr);
        return held && own.blocks == 0;
    });
    c.check("an arena of the environment", [&] {
        const Ort::ArenaCfg arena(0, -1, -1, -1);
        Ort::MemoryInfo where("Cpu", OrtArenaAllocator, 0, OrtMemTypeDefault);
        const_cast<Ort::Env &>(c.env).CreateAndRegisterAllocator(where, arena);
        Ort::SessionOptions options;
        options.AddConfigEntry("session.use_env_allocators", "1");
        return scales(c.open("scale", options));
    });
}

void keep(void *said, OrtLoggingLevel, const char *, const char *, const char *, const char *message)
{
    static_cast<std::vector<std::string> *>(said)->push_back(message);
}

int all(const std::string &folder)
{
    Checks check;
    about(check);
    global_pools(folder, check);
    std::vector<std::string> said;
    const Ort::Env env(ORT_LOGGING_LEVEL_WARNING, "client", keep, &said);
    const Context c{ env, folder, check, said };
    own_threads(c);
    memory(c);
    sessions(c);
    values(c);
    custom(c);
    newer(c);
    std::printf("API %d: %d passed, %d failed\n", ORT_API_VERSION, check.passed(), check.failed());
    return check.failed() > 0;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc == 2 && Ort::Global<void>::api_) return all(argv[1]);
    std::fprintf(stderr, argc == 2 ? "the library lacks this version of the API\n" : "usage: client FOLDER\n");
    return 2;
}
