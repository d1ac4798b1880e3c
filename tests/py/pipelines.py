#!/usr/bin/env python3
"""Models of scikit-learn, LightGBM and XGBoost, converted to ONNX, against what those libraries predict.

    pipelines.py [--sdx build/release/sdx] [--out build/pipelines] [NAME ...]

Each model is trained here on small data, converted by skl2onnx or onnxmltools, and run by `sdx test`; the expected
results are the source library's own. Fields of a row: what to train, on what, and options of the converter.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import warnings

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPSET = {"": 21, "ai.onnx.ml": 3}


# ---- data --------------------------------------------------------------------------------------------------------

def rows(n=240, classes=3, missing=False):
    """Multiples of 1/64, so that no threshold falls between a number and its float."""
    rng = np.random.default_rng(7)
    x = np.round(rng.normal(size=(n, 5)) * 64) / 64
    score = x[:, 0] - 0.7 * x[:, 1] + x[:, 2] * x[:, 3]
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    if missing:
        x[rng.random(x.shape) < 0.15] = np.nan
    return x.astype(np.float32), y, (score + 0.1 * rng.normal(size=n)).astype(np.float32)


TEXTS = ["the cat sat on the mat", "a dog chased the cat", "dogs and cats", "the mat was red", "red dogs sat", "a mat, a cat; a dog!"] * 4
LABELS = np.array([0, 1, 1, 0, 1, 0] * 4)
TABLE = {"city": ["Oslo", "Rome", "Oslo", "Paris", "Rome", "Paris"] * 8, "size": ["s", "m", "l", "m", "s", "l"] * 8,
         "age": [31.0, 22, 45, 38, 27, 51] * 8, "pay": [1.5, 2.25, 3.5, 2.75, 1.25, 4.0] * 8}
TABLE_Y = np.array([0, 1, 0, 1, 1, 0] * 8)


# ---- the list ----------------------------------------------------------------------------------------------------

def models():
    """name -> (model, data kind, converter options). Data kinds: class2, class3, real, missing2, missingreal, positive, text, words,
    table, strings."""
    import sklearn.ensemble as en
    import sklearn.linear_model as lm
    from sklearn import cluster, compose, decomposition, discriminant_analysis, feature_extraction, feature_selection, gaussian_process, impute
    from sklearn import mixture, multiclass, multioutput, naive_bayes, neighbors, neural_network, preprocessing as pp, svm, tree
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.pipeline import make_pipeline
    gp = gaussian_process
    text = feature_extraction.text
    words = {"token_pattern": "[a-zA-Z0-9_]+"}  # the default pattern drops single letters, its conversion does not
    m = {}

    def add(name, model, data, **options):
        m[name] = (model, data, options)

    # linear models; ZipMap as the converter writes it by default, without, and by columns
    add("linear_regression", lm.LinearRegression(), "real")
    add("ridge", lm.Ridge(), "real")
    add("lasso", lm.Lasso(alpha=0.01), "real")
    add("elastic_net", lm.ElasticNet(alpha=0.01), "real")
    add("poisson", lm.PoissonRegressor(), "counts")
    add("logistic_zipmap", lm.LogisticRegression(), "class3", zipmap=True)
    add("logistic", lm.LogisticRegression(), "class3")
    add("logistic_columns", lm.LogisticRegression(), "class3", zipmap="columns")
    add("logistic_binary_zipmap", lm.LogisticRegression(), "class2", zipmap=True)
    add("logistic_names_zipmap", lm.LogisticRegression(), "named", zipmap=True)
    add("one_vs_rest", multiclass.OneVsRestClassifier(lm.LogisticRegression()), "class3")
    add("sgd_classifier", lm.SGDClassifier(loss="log_loss", random_state=0), "class3")
    add("linear_svc", svm.LinearSVC(), "class3", zipmap=None)
    add("linear_svr", svm.LinearSVR(), "real")
    # support vectors
    add("svc_rbf", svm.SVC(), "class2")
    add("svc_rbf_three", svm.SVC(), "class3")
    add("svc_poly", svm.SVC(kernel="poly", degree=2), "class3")
    add("svc_linear", svm.SVC(kernel="linear"), "class2")
    add("svc_sigmoid", svm.SVC(kernel="sigmoid"), "class2")
    add("nu_svc", svm.NuSVC(), "class3")
    add("svr", svm.SVR(), "real")
    add("nu_svr", svm.NuSVR(kernel="poly"), "real")
    add("one_class_svm", svm.OneClassSVM(), "outlier")
    # trees, forests, boosting
    add("tree", tree.DecisionTreeClassifier(random_state=0), "class3")
    add("tree_zipmap", tree.DecisionTreeClassifier(max_depth=4, random_state=0), "class3", zipmap=True)
    add("tree_regressor", tree.DecisionTreeRegressor(random_state=0), "real")
    add("forest", en.RandomForestClassifier(20, random_state=0), "class3")
    add("forest_binary", en.RandomForestClassifier(20, max_depth=5, random_state=0), "class2")
    add("forest_regressor", en.RandomForestRegressor(20, random_state=0), "real")
    add("extra_trees", en.ExtraTreesClassifier(20, random_state=0), "class3")
    add("extra_trees_regressor", en.ExtraTreesRegressor(20, random_state=0), "real")
    add("boosting", en.GradientBoostingClassifier(n_estimators=20, random_state=0), "class3")
    add("boosting_binary", en.GradientBoostingClassifier(n_estimators=20, random_state=0), "class2")
    add("boosting_regressor", en.GradientBoostingRegressor(n_estimators=20, random_state=0), "real")
    add("histogram", en.HistGradientBoostingClassifier(max_iter=20, random_state=0), "class2")
    add("histogram_three", en.HistGradientBoostingClassifier(max_iter=20, random_state=0), "class3")
    add("histogram_regressor", en.HistGradientBoostingRegressor(max_iter=20, random_state=0), "missingreal")
    add("adaboost", en.AdaBoostClassifier(n_estimators=10, random_state=0), "class3")
    add("adaboost_regressor", en.AdaBoostRegressor(n_estimators=10, random_state=0), "real")
    add("bagging", en.BaggingClassifier(n_estimators=5, random_state=0), "class3")
    add("isolation_forest", en.IsolationForest(n_estimators=10, random_state=0), "outlier")
    add("voting", en.VotingClassifier([("a", lm.LogisticRegression()), ("b", tree.DecisionTreeClassifier(max_depth=3, random_state=0))], voting="soft", flatten_transform=False), "class3")
    add("stacking", en.StackingClassifier([("a", lm.LogisticRegression()), ("b", tree.DecisionTreeClassifier(max_depth=3, random_state=0))]), "class2")
    add("calibrated", CalibratedClassifierCV(lm.LogisticRegression(), cv=2), "class2")
    # neighbours, naive Bayes, Gaussian processes, networks, clusters
    add("knn", neighbors.KNeighborsClassifier(3), "class3")
    add("knn_manhattan", neighbors.KNeighborsClassifier(5, p=1), "class3")
    add("knn_regressor", neighbors.KNeighborsRegressor(3), "real")
    add("gaussian_nb", naive_bayes.GaussianNB(), "class3")
    add("multinomial_nb", naive_bayes.MultinomialNB(), "positive")
    add("bernoulli_nb", naive_bayes.BernoulliNB(), "class3")
    add("gp_regressor", gp.GaussianProcessRegressor(gp.kernels.RBF() + gp.kernels.WhiteKernel(0.1)), "few")
    add("gp_matern", gp.GaussianProcessRegressor(gp.kernels.Matern(nu=1.5), alpha=0.1, optimizer=None), "few")
    add("gp_dot", gp.GaussianProcessRegressor(gp.kernels.DotProduct() + gp.kernels.WhiteKernel(0.1)), "few")
    add("mlp", neural_network.MLPClassifier(hidden_layer_sizes=(8,), max_iter=50, random_state=0), "class3")
    add("mlp_regressor", neural_network.MLPRegressor(hidden_layer_sizes=(8,), max_iter=50, random_state=0), "real")
    add("kmeans", cluster.KMeans(3, n_init=2, random_state=0), "cluster")
    add("mixture", mixture.GaussianMixture(2, random_state=0), "cluster")
    add("lda", discriminant_analysis.LinearDiscriminantAnalysis(), "class3")
    add("qda", discriminant_analysis.QuadraticDiscriminantAnalysis(), "class3", label_shape=(1, -1))
    add("multi_output", multioutput.MultiOutputRegressor(lm.Ridge()), "two")
    # scalers and other transformers
    for name, t in {"standard_scaler": pp.StandardScaler(), "min_max": pp.MinMaxScaler(), "max_abs": pp.MaxAbsScaler(), "robust": pp.RobustScaler(),
                    "normalizer": pp.Normalizer(), "binarizer": pp.Binarizer(threshold=0.25), "polynomial": pp.PolynomialFeatures(2),
                    "bins": pp.KBinsDiscretizer(4, encode="ordinal", quantile_method="averaged_inverted_cdf") if "quantile_method" in pp.KBinsDiscretizer().get_params() else pp.KBinsDiscretizer(4, encode="ordinal"),
                    "power": pp.PowerTransformer(), "pca": decomposition.PCA(3), "svd": decomposition.TruncatedSVD(3, random_state=0),
                    "select": feature_selection.SelectKBest(k=3), "variance": feature_selection.VarianceThreshold(0.5)}.items():
        add(name, t, "transform")
    add("imputer", impute.SimpleImputer(), "missingtransform")
    add("imputer_constant", impute.SimpleImputer(strategy="constant", fill_value=-1), "missingtransform")
    add("imputer_knn", impute.KNNImputer(n_neighbors=3), "missingtransform")
    add("one_hot", pp.OneHotEncoder(handle_unknown="ignore"), "strings")
    add("ordinal", pp.OrdinalEncoder(), "strings")
    add("label_encoder", pp.LabelEncoder(), "labels")
    # texts
    add("tfidf", text.TfidfVectorizer(**words), "text")
    add("count_bigrams", text.CountVectorizer(ngram_range=(1, 2), **words), "text")
    add("tfidf_logistic_zipmap", make_pipeline(text.TfidfVectorizer(**words), lm.LogisticRegression()), "textclass", zipmap=True)
    add("tfidf_nb", make_pipeline(text.TfidfVectorizer(norm="l1", **words), naive_bayes.MultinomialNB()), "textclass")
    # pipelines
    add("scaled_logistic", make_pipeline(pp.StandardScaler(), lm.LogisticRegression()), "class3", zipmap=True)
    add("imputed_forest", make_pipeline(impute.SimpleImputer(), en.RandomForestClassifier(10, random_state=0)), "missing2", zipmap=True)
    add("pca_svc", make_pipeline(pp.StandardScaler(), decomposition.PCA(3), svm.SVC()), "class3")
    columns = compose.ColumnTransformer([("words", pp.OneHotEncoder(), ["city", "size"]), ("numbers", pp.StandardScaler(), ["age", "pay"])])
    add("columns_logistic", make_pipeline(columns, lm.LogisticRegression()), "table", zipmap=True)
    add("columns_boosting", make_pipeline(columns, en.GradientBoostingClassifier(n_estimators=10, random_state=0)), "table")

    import lightgbm as lgb
    import xgboost as xgb
    quiet = dict(n_estimators=20, max_depth=4, verbosity=-1, min_child_samples=5, random_state=0)
    add("lightgbm", lgb.LGBMClassifier(**quiet), "class2", by="lightgbm")
    add("lightgbm_zipmap", lgb.LGBMClassifier(**quiet), "class3", by="lightgbm", zipmap=True)
    add("lightgbm_missing", lgb.LGBMClassifier(**quiet), "missing2", by="lightgbm")
    add("lightgbm_regressor", lgb.LGBMRegressor(**quiet), "real", by="lightgbm")
    add("lightgbm_dart", lgb.LGBMRegressor(boosting_type="dart", **quiet), "missingreal", by="lightgbm")
    trees = dict(n_estimators=20, max_depth=4, random_state=0)
    add("xgboost", xgb.XGBClassifier(**trees), "class2", by="xgboost")
    add("xgboost_three", xgb.XGBClassifier(**trees), "class3", by="xgboost")
    add("xgboost_missing", xgb.XGBClassifier(**trees), "missing2", by="xgboost")
    add("xgboost_regressor", xgb.XGBRegressor(**trees), "real", by="xgboost")
    add("xgboost_missing_regressor", xgb.XGBRegressor(**trees), "missingreal", by="xgboost")
    return m


def data(kind):
    """(x, y, test x)"""
    if kind in ("text", "textclass"):
        return TEXTS, LABELS, TEXTS[:6] + ["an unseen red cat"]
    if kind == "strings":
        x = np.array([[TABLE["city"][i], TABLE["size"][i]] for i in range(24)], dtype=object)
        return x, None, x[:6]
    if kind == "labels":
        return np.array(TABLE["city"], dtype=object), None, np.array(TABLE["city"][:6], dtype=object)
    if kind == "table":
        import pandas
        frame = pandas.DataFrame(TABLE)
        return frame, TABLE_Y, frame[:6]
    x, y, r = rows(classes=2 if kind in ("class2", "missing2", "named") else 3, missing="missing" in kind)
    if kind == "positive":
        x = np.abs(x)
    if kind == "named":
        y = np.array(["no", "yes"])[y]
    if kind.startswith("few"):
        return x[:40], r[:40], x[40:60]
    target = {"real": r, "missingreal": r, "two": np.stack([r, -r], 1), "counts": x[:, 0] > 0}.get(kind, y)
    if kind in ("outlier", "cluster"):
        target = None
    return x, target, x[:50] + np.float32(1 / 512)  # unseen, and on no threshold


# ---- converting and expecting --------------------------------------------------------------------------------------

def take_booleans():
    """Protobuf 6 refuses the booleans that skl2onnx 1.20 writes into lists of integers."""
    from onnx import helper
    original = helper.make_attribute

    def make_attribute(key, value, *args, **kwargs):
        if isinstance(value, list) and any(isinstance(v, (bool, np.bool_)) for v in value):
            value = [int(v) for v in value]
        return original(key, value, *args, **kwargs)
    helper.make_attribute = make_attribute


def convert(model, kind, x, options):
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    if options.get("by"):
        import onnxmltools
        from onnxmltools.convert.common.data_types import FloatTensorType as FloatType
        f = {"lightgbm": onnxmltools.convert_lightgbm, "xgboost": onnxmltools.convert_xgboost}[options["by"]]
        extra = {"zipmap": options.get("zipmap", False)} if options["by"] == "lightgbm" else {}
        return f(model, initial_types=[("x", FloatType([None, x.shape[1]]))], target_opset=15, **extra)
    if kind in ("text", "textclass"):
        types = [("x", StringTensorType([None]))]
    elif kind == "strings":
        types = [("x", StringTensorType([None, 2]))]
    elif kind == "labels":
        types = [("x", StringTensorType([None]))]
    elif kind == "table":
        types = [(c, StringTensorType([None, 1]) if x[c].dtype == object or str(x[c].dtype).startswith("str") else FloatTensorType([None, 1])) for c in x.columns]
    else:
        types = [("x", FloatTensorType([None, x.shape[1]]))]
    zipmap = options.get("zipmap", False)
    has_zipmap = hasattr(model, "classes_") and kind not in ("labels", "text") and zipmap is not None
    extra = {"options": {id(model): {"zipmap": zipmap}}} if has_zipmap else {}
    return convert_sklearn(model, initial_types=types, target_opset=OPSET, **extra)


def expected(model, kind, x, options, outputs):
    """What the source library says, in the order of the ONNX outputs."""
    if kind in ("transform", "missingtransform", "text", "strings", "labels"):
        y = model.transform(x)
        return [np.asarray(y.todense() if hasattr(y, "todense") else y)]
    if kind == "outlier":
        return [model.predict(x).reshape(-1, 1), model.decision_function(x).reshape(-1, 1)]
    if kind == "cluster":
        second = model.predict_proba(x) if hasattr(model, "predict_proba") else model.transform(x)
        return [model.predict(x), second]
    if not hasattr(model, "classes_"):
        y = np.asarray(model.predict(x))
        return [y if y.ndim == 2 else y.reshape(-1, 1)]
    label = model.predict(x).reshape(options.get("label_shape", -1))
    if hasattr(model, "predict_proba"):
        p = model.predict_proba(x)
    else:
        p = model.decision_function(x)
        if p.ndim == 1:  # of two classes; SVC's is converted with libsvm's sign, which is the opposite one
            p = np.stack([p, -p], 1) if type(model).__name__ in ("SVC", "NuSVC") else np.stack([-p, p], 1)
    zipmap = options.get("zipmap")
    if zipmap == "columns":
        return [label, *p.T]
    if zipmap:
        return [label, [dict(zip(model.classes_.tolist(), row.tolist())) for row in p]]
    return [label, p]


def as_output(value, info):
    """The bytes of an output, in the type that the model gives it."""
    import generate
    kind = info.type
    if kind.HasField("sequence_type"):
        m = kind.sequence_type.elem_type.map_type
        names = {1: "float", 7: "int64", 8: "string", 11: "double"}
        return generate.sequence_proto(value, ("seq", ("map", names[m.key_type], ("tensor", names[m.value_type.tensor_type.elem_type]))), info.name)
    from onnx import helper, numpy_helper
    dtype = helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type)
    rank = len(kind.tensor_type.shape.dim)
    value = np.asarray(value)
    value = value.astype(object) if dtype == object else value.astype(dtype)
    if rank == 2 and value.ndim == 1:
        value = value.reshape(-1, 1)
    if rank == 1 and value.ndim == 2:
        value = value.reshape(-1)
    return numpy_helper.from_array(value, info.name)


def feeds(model, x):
    from onnx import numpy_helper
    for info in model.graph.input:
        if hasattr(x, "columns"):
            column = np.asarray(x[info.name])
            value = column.astype(np.float32 if column.dtype.kind == "f" else object).reshape(-1, 1)
        else:
            value = np.array(x, dtype=object) if isinstance(x, list) else x
        yield numpy_helper.from_array(value, info.name)


def write(folder, name, row):
    model, kind, options = row
    x, y, test = data(kind)
    model.fit(x) if y is None else model.fit(x, y)
    onnx_model = convert(model, kind, x, options)
    want = expected(model, kind, test, options, onnx_model.graph.output)
    sets = folder / "test_data_set_0"
    sets.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(onnx_model.SerializeToString())
    (folder / "data.json").write_text(json.dumps({"rtol": 1e-3, "atol": 2e-4 if kind != "few" else 2e-3}))
    for i, value in enumerate(feeds(onnx_model, test)):
        (sets / f"input_{i}.pb").write_bytes(value.SerializeToString())
    for i, (value, info) in enumerate(zip(want, onnx_model.graph.output)):
        (sets / f"output_{i}.pb").write_bytes(as_output(value, info).SerializeToString())


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*")
    p.add_argument("--sdx", default=str(ROOT / "build/release/sdx"))
    p.add_argument("--out", type=pathlib.Path, default=ROOT / "build/pipelines")
    a = p.parse_args()
    warnings.simplefilter("ignore")
    take_booleans()
    shutil.rmtree(a.out, ignore_errors=True)
    not_made = 0
    for name, row in models().items():
        if a.names and name not in a.names:
            continue
        try:
            write(a.out / name, name, row)
        except Exception as e:  # noqa: BLE001, converters fail in many ways
            shutil.rmtree(a.out / name, ignore_errors=True)
            not_made += 1
            print(f"not made  {name}: {type(e).__name__}: {str(e)[:200]}")
    done = subprocess.run([a.sdx, "test", str(a.out), "--json", "-v"], capture_output=True, text=True)
    cases = json.loads(done.stdout)["cases"]
    for c in cases:
        print(f"{c['result']:8}  {c['name']}{': ' if c['text'] else ''}{c['text']}")
    passed = sum(c["result"] == "passed" for c in cases)
    print(f"pipelines: {passed} passed, {len(cases) - passed} failed" + (f", {not_made} not converted" if not_made else ""))
    return 1 if passed < len(cases) or not_made else 0


if __name__ == "__main__":
    sys.exit(main())
