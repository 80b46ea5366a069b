"""More work with data that must not be held up."""

from __future__ import annotations

HARMLESS: dict[str, list[str]] = {
    "python": [
        "df.explode('tags')['tags'].str.strip().value_counts().head(10)",
        "df['a'].clip(0, 10).hist()",
        "df.eval('a + b').describe()",
        "df.loc[df['a'].idxmax(), ['a', 'b']]",
        "df.astype({'a': 'float32'}).dtypes",
        (
            "def summarise(frame, col):\n"
            "    s = frame[col]\n"
            "    return pd.Series({'n': s.size, 'na': s.isna().sum(), 'mean': s.mean()})\n"
            "pd.DataFrame({c: summarise(df, c) for c in ['a', 'b']}).T"
        ),
        (
            "def fit_and_score(est, tr, te):\n"
            "    est.fit(tr[['a']], tr['c'])\n"
            "    return est.score(te[['a']], te['c'])\n"
            "from sklearn.linear_model import Ridge\n"
            "fit_and_score(Ridge(), df.iloc[:50], df.iloc[50:])"
        ),
        (
            "class Running:\n"
            "    def __init__(self): self.n = 0; self.m = 0.0\n"
            "    def push(self, v):\n"
            "        self.n += 1\n"
            "        self.m += (v - self.m) / self.n\n"
            "r = Running()\n"
            "for v in df['a']: r.push(v)\n"
            "r.m"
        ),
        (
            "from scipy import stats as st\n"
            "for d in (st.norm, st.expon):\n"
            "    print(d.name, st.kstest(df['a'], d.name, d.fit(df['a'])).pvalue)"
        ),
        (
            "from scipy.signal import find_peaks, butter, filtfilt\n"
            "b, a = butter(3, .1)\n"
            "pk, _ = find_peaks(filtfilt(b, a, df['a']))\n"
            "len(pk)"
        ),
        "from scipy.interpolate import interp1d\ninterp1d([0, 1, 2], [0, 1, 4], kind='quadratic')(1.5)",
        (
            "from scipy.integrate import solve_ivp\n"
            "sol = solve_ivp(lambda t, z: -z, (0, 5), [1.0])\n"
            "plt.plot(sol.t, sol.y[0])"
        ),
        "from scipy.spatial.distance import pdist, squareform\nsquareform(pdist(X[:5]))",
        "np.polyfit(df['a'], df['b'], 1)",
        "np.fft.rfft(df['a'].to_numpy())[:5]",
        "np.histogram(df['a'], bins='auto')",
        "m = np.ma.masked_invalid(df['a']); m.mean(), m.count()",
        "boot = [rng.choice(df['a'], len(df)).mean() for _ in range(200)]\nnp.quantile(boot, [.025, .975])",
        "pl.DataFrame({'a': [1, 2, 3]}).lazy().with_columns(pl.col('a').rolling_mean(2)).collect()",
        "pl.read_parquet('data/x.parquet').join(pl.read_csv('data/a.csv'), on='id').group_by('cat').len()",
        "xr.Dataset({'t': (('time', 'x'), np.ones((2, 3)))}).groupby('time').mean()",
        "xr.open_dataset('data/a.nc').sel(time='2020').t.plot()",
        (
            "duckdb.sql(\"select cat, count(*) n from read_csv('data/train.csv') group by 1 order by n d"
            'esc limit 5").show()'
        ),
        "con.execute('select * from t limit 5').fetchdf()",
        "pd.read_sql_query('select a, b from t where a > 1', con).describe()",
        (
            "from sqlalchemy import inspect, text\n"
            "with engine.connect() as c:\n"
            "    rows = c.execute(text('select count(*) from t')).scalar()\n"
            "rows"
        ),
        "insp = inspect(engine)\n{t: [c['name'] for c in insp.get_columns(t)] for t in insp.get_table_names()}",
        "pa.table({'a': [1, 2]}).group_by('a').aggregate([('a', 'sum')])",
        "import pyarrow.compute as pc\npc.mean(pa.array([1, 2, 3]))",
        "x = torch.linspace(0, 1, 20, requires_grad=True)\n(x ** 2).sum().backward()\nx.grad",
        (
            "import torch.nn.functional as F\n"
            "opt = torch.optim.Adam(net2.parameters(), lr=1e-3)\n"
            "for epoch in range(3):\n"
            "    opt.zero_grad()\n"
            "    loss = F.mse_loss(net2(torch.randn(8, 4)), torch.zeros(8, 1))\n"
            "    loss.backward(); opt.step()\n"
            "loss.item()"
        ),
        (
            "class MLP(torch.nn.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.l = torch.nn.Linear(4, 1)\n"
            "        self.register_buffer('mu', torch.zeros(4))\n"
            "    def forward(self, x): return self.l(x - self.mu)\n"
            "MLP()(torch.randn(2, 4))"
        ),
        (
            "from torch.utils.data import DataLoader, TensorDataset\n"
            "dl = DataLoader(TensorDataset(torch.randn(10, 2)), batch_size=4)\n"
            "len(dl), next(iter(dl))[0].shape"
        ),
        "import statsmodels.api as sm\nsm.qqplot(df['a'], line='s')",
        (
            "from statsmodels.tsa.seasonal import seasonal_decompose\n"
            "seasonal_decompose(df.set_index('date')['a'], period=7).plot()"
        ),
        "from statsmodels.tsa.arima.model import ARIMA\nARIMA(df['a'], order=(1, 1, 0)).fit().forecast(5)",
        (
            "import optuna\n"
            "study = optuna.create_study(direction='minimize')\n"
            "study.optimize(lambda t: (t.suggest_float('x', -1, 1)) ** 2, n_trials=10)\n"
            "study.best_params"
        ),
        "import shap\nex = shap.TreeExplainer(model)\nshap.summary_plot(ex.shap_values(X), X)",
        "import umap\numap.UMAP(n_neighbors=10).fit_transform(X).shape",
        (
            "import networkx as nx\n"
            "G = nx.Graph()\n"
            "G.add_edges_from([(1, 2), (2, 3)])\n"
            "G.remove_node(1)\n"
            "nx.draw(G, with_labels=True)"
        ),
        (
            "from collections import defaultdict, deque\n"
            "dd = defaultdict(list)\n"
            "for k, v in zip(df['cat'], df['a']): dd[k].append(v)\n"
            "q = deque([1, 2]); q.popleft()"
        ),
        "import heapq\nh = []\nfor v in [3, 1, 2]: heapq.heappush(h, v)\nheapq.heappop(h)",
        "from queue import PriorityQueue\npq_ = PriorityQueue(); pq_.put((1, 'a')); pq_.get()",
        "[m.start() for m in re.finditer('a', 'banana')]",
        "import string, random\nrandom.Random(0).sample(string.ascii_lowercase, 3)",
        "import textwrap, pprint\npprint.pprint(df.iloc[0].to_dict(), width=60)",
        "import logging\nlog = logging.getLogger('x'); log.info('rows %d', len(df))",
        "from IPython.display import display, HTML\ndisplay(HTML(df.head().to_html()))",
        "import ipywidgets as widgets\nwidgets.IntSlider(value=3, min=0, max=10)",
        "from rich.table import Table\nt = Table('a', 'b'); t.add_row('1', '2'); t",
        "from tabulate import tabulate\nprint(tabulate(df.head(), headers='keys'))",
        "import hashlib\nhashlib.sha256(pd.util.hash_pandas_object(df).values.tobytes()).hexdigest()",
        "import psutil\npsutil.virtual_memory().percent",
        "import gc; gc.collect()",
        "sys.getsizeof(df), os.path.getsize('data/train.csv')",
        "with open('data/train.csv') as fh:\n    head = [next(fh) for _ in range(3)]\nhead",
        "import csv\nwith open('data/a.csv', newline='') as fh: rows = list(csv.DictReader(fh))\nlen(rows)",
        "import io\npd.read_csv(io.StringIO('a,b\\n1,2'))",
        "buf = io.StringIO(); df.info(buf=buf); print(buf.getvalue()[:100])",
        (
            "from pathlib import Path\n"
            "frames = [pd.read_csv(p) for p in sorted(Path('data').glob('*.csv'))]\n"
            "pd.concat(frames).shape"
        ),
        "import yaml\nyaml.safe_load(Path('data/conf.yml').read_text())",
        "import pickle\nlen(pickle.dumps(df))",
        "import sqlite3\nmem = sqlite3.connect(':memory:')\nmem.execute('select 1').fetchall()",
        "%%time\ndf.merge(other, on='id').shape",
        "%timeit -n 10 df['a'].sum()",
        "df.plot?",
        "help(pd.merge_asof)",
        "print(model.coef_.round(3), model.intercept_)",
        "if 'a' in df.columns and df['a'].notna().any():\n    print(df['a'].max())\nelse:\n    print('none')",
        "assert df.index.is_unique",
        "np.set_printoptions(precision=3, suppress=True); X[:3]",
        "pd.options.display.float_format = '{:.2f}'.format\ndf.head(3)",
        "sns.set_theme(style='whitegrid'); plt.rcParams['figure.dpi'] = 120",
        "plt.style.use('ggplot'); plt.close('all')",
        ("from lifelines import KaplanMeierFitter\nKaplanMeierFitter().fit(df['t'], df['e']).plot_survival_function()"),
        "import geopandas as gpd\ngpd.read_file('data/a.geojson').to_crs(3857).area.sum()",
        (
            "from prophet import Prophet\n"
            "mp = Prophet(); mp.fit(df.rename(columns={'date': 'ds', 'a': 'y'}))\n"
            "mp.predict(mp.make_future_dataframe(30)).tail()"
        ),
        "import nltk\nnltk.FreqDist('a b a'.split()).most_common(2)",
        "import spacy\nnlp = spacy.blank('en'); [t.text for t in nlp('Hello there')]",
        "import cv2\ncv2.cvtColor(cv2.imread('data/a.png'), cv2.COLOR_BGR2GRAY).mean()",
        "from PIL import Image\nim = Image.open('data/a.png'); im.size, im.resize((64, 64))",
        (
            "import h5py\n"
            "with h5py.File('data/a.h5', 'r') as f5:\n"
            "    print(list(f5.keys()), f5['x'].shape, f5['x'][:5])"
        ),
        "import openpyxl\nopenpyxl.load_workbook('data/x.xlsx', read_only=True).sheetnames",
        "import json\nprint(json.dumps({'n': len(df)}, indent=2))",
        "from typing import NamedTuple\nclass P(NamedTuple):\n    x: int\n    y: int\nP(1, 2)._asdict()",
        "from joblib import hash as jh\njh(df)",
        "import numpy.testing as npt\nnpt.assert_allclose(X, X)",
        "pd.testing.assert_frame_equal(df, df.copy())",
        "import datetime as dt\ndt.datetime.now(dt.timezone.utc).isoformat()",
        "df2 = df.copy(); df2.drop(columns='a', inplace=True); df2.shape",
        "sub = df[['a', 'b']].copy()\nsub.columns = ['x', 'y']\nsub.insert(0, 'k', range(len(sub)))\nsub.pop('k')",
        "train, test = df.iloc[:100], df.iloc[100:]\nprint(len(train), len(test))",
        (
            "miss = df.isnull().mean().mul(100).round(1)\n"
            "miss[miss > 0].sort_values().plot.barh(color='tomato', figsize=(6, 3))\n"
            "plt.xlabel('% missing')"
        ),
        (
            "corr = df.corr(numeric_only=True)\n"
            "mask = np.triu(np.ones_like(corr, dtype=bool))\n"
            "sns.heatmap(corr, mask=mask, cmap='coolwarm', center=0)"
        ),
        "top = df.groupby('cat')['a'].sum().nlargest(10)\ntop.plot(kind='pie', autopct='%1.1f%%')",
        (
            "fig, ax = plt.subplots()\n"
            "for name, g in df.groupby('cat'):\n"
            "    ax.plot(g['date'], g['a'], label=name)\n"
            "ax.legend(loc='upper left'); fig.autofmt_xdate()"
        ),
        (
            "ax = df.plot.scatter('a', 'b', c='c', colormap='viridis', alpha=.4)\n"
            "ax.axhline(0, color='k'); ax.annotate('x', (1, 2))"
        ),
        "fig = plt.figure(); ax = fig.add_subplot(projection='3d'); ax.scatter(X[:, 0], X[:, 1], X[:, 2])",
        (
            "from matplotlib.animation import FuncAnimation\n"
            "from IPython.display import HTML\n"
            "HTML(FuncAnimation(plt.figure(), lambda i: [], frames=2).to_jshtml())"
        ),
        (
            "from sklearn.linear_model import LassoCV\n"
            "from sklearn.preprocessing import PolynomialFeatures\n"
            "P2 = PolynomialFeatures(2).fit_transform(df[['a', 'b']])\n"
            "LassoCV(cv=3).fit(P2, df['c']).alpha_"
        ),
        (
            "from sklearn.experimental import enable_iterative_imputer\n"
            "from sklearn.impute import IterativeImputer\n"
            "IterativeImputer(random_state=0).fit_transform(df[['a', 'b']])[:2]"
        ),
        "from sklearn import metrics\nmetrics.ConfusionMatrixDisplay.from_predictions([0, 1], [0, 1])",
        (
            "from sklearn.model_selection import learning_curve, validation_curve\n"
            "sizes, tr, te = learning_curve(model, X, y, cv=3)\n"
            "plt.plot(sizes, te.mean(axis=1))"
        ),
        (
            "from sklearn.ensemble import IsolationForest, VotingClassifier, StackingRegressor\n"
            "IsolationForest(random_state=0).fit_predict(X)"
        ),
        (
            "from sklearn.base import BaseEstimator, TransformerMixin, clone\n"
            "class Log(BaseEstimator, TransformerMixin):\n"
            "    def fit(self, X, y=None): return self\n"
            "    def transform(self, X): return np.log1p(X)\n"
            "Log().fit_transform(X)"
        ),
        (
            "from sklearn.tree import export_text, DecisionTreeClassifier\n"
            "print(export_text(DecisionTreeClassifier(max_depth=2).fit(X, y)))"
        ),
        "from sklearn.utils import resample, shuffle\nresample(X, n_samples=10, random_state=0).shape",
        (
            "from sklearn.utils.class_weight import compute_class_weight\n"
            "compute_class_weight('balanced', classes=np.unique(y), y=y)"
        ),
        (
            "from sklearn.neighbors import KNeighborsClassifier, KernelDensity\n"
            "KernelDensity(bandwidth=.5).fit(X).score_samples(X[:3])"
        ),
        (
            "from xgboost import XGBRegressor, plot_importance\n"
            "m9 = XGBRegressor(n_estimators=5, early_stopping_rounds=3)\n"
            "m9.fit(X, y, eval_set=[(X, y)], verbose=False); plot_importance(m9)"
        ),
        (
            "import lightgbm as lgb\n"
            "bst = lgb.train({'objective': 'regression'}, lgb.Dataset(X, y), num_boost_round=5)\n"
            "bst.feature_importance('gain')"
        ),
        (
            "from catboost import CatBoostRegressor\n"
            "CatBoostRegressor(iterations=5, allow_writing_files=False, verbose=0).fit(X, y).get_featur"
            "e_importance()"
        ),
        "import statsmodels.formula.api as smf\nprint(smf.logit('c ~ a + b', df).fit(disp=0).summary2())",
        "from statsmodels.stats.multicomp import pairwise_tukeyhsd\npairwise_tukeyhsd(df['a'], df['cat']).summary()",
        "from statsmodels.graphics.tsaplots import plot_acf\nplot_acf(df['a'], lags=20)",
        (
            "from statsmodels.stats.outliers_influence import variance_inflation_factor as vif\n"
            "[vif(X, i) for i in range(X.shape[1])]"
        ),
        "from scipy import sparse, linalg\nsparse.csr_matrix(X).nnz, linalg.svdvals(X)[:3]",
        (
            "from scipy.stats import spearmanr, chi2_contingency, mannwhitneyu\n"
            "chi2_contingency(pd.crosstab(df['a'], df['b'])).pvalue"
        ),
        "from scipy.cluster.vq import kmeans2\nkmeans2(X, 3, seed=0)[1][:5]",
        "from scipy.io import loadmat\nloadmat('data/a.mat').keys()",
        "np.einsum('ij,kj->ik', X[:3], X[:3])",
        "np.lib.stride_tricks.sliding_window_view(np.arange(10), 3).mean(axis=1)",
        "np.where(df['a'] > 0, 'pos', 'neg')",
        "np.add.reduce(X), np.maximum.accumulate(X[:, 0])",
        "np.char.upper(np.array(['a', 'b']))",
        "pd.api.types.is_numeric_dtype(df['a'])",
        "pd.tseries.offsets.MonthEnd(1)",
        "pd.plotting.scatter_matrix(df[['a', 'b']])",
        "pd.Categorical(df['cat'], categories=['x', 'y'], ordered=True).codes[:5]",
        "df.pipe(lambda d: d[d['a'] > 0]).pipe(len)",
        "df.groupby('cat').apply(lambda g: g.nlargest(1, 'a'), include_groups=False)",
        "df['b'].str.replace(r'\\s+', ' ', regex=True).str.split(' ').str[0].head()",
        "df.rename(columns={'a': 'alpha'}).columns",
        "df.replace({'cat': {'x': 'X'}}).head()",
        "df.update",
        "s = set(df['cat']); s.add('z'); s.remove('z'); s",
        "d = {'a': 1}; d.update(b=2); d.pop('a'); d",
        "lst = [3, 1, 2]; lst.sort(); lst.insert(0, 9); lst.remove(1); lst",
        "tmp = df.head(20).copy()\ntmp.fillna(0, inplace=True)\ntmp.sort_values('a', inplace=True)\ntmp",
        (
            "agg = df.groupby('cat')['a'].mean().reset_index()\n"
            "agg.columns = ['cat', 'mean_a']\n"
            "agg.rename(columns={'mean_a': 'm'}, inplace=True)\n"
            "agg"
        ),
        (
            "def clean(frame):\n"
            "    frame = frame.copy()\n"
            "    frame.dropna(inplace=True)\n"
            "    return frame\n"
            "clean(df).shape"
        ),
        "import torch.nn as nn\nnn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(inplace=True), nn.Flatten())",
        "with torch.no_grad():\n    p = torch.sigmoid(net2(torch.randn(2, 4)))\np",
        "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu'); device",
        (
            "from torch.optim.lr_scheduler import StepLR\n"
            "StepLR(torch.optim.SGD(net2.parameters(), lr=.1), 2).get_last_lr()"
        ),
        (
            "from tensorflow import keras\n"
            "km = keras.Sequential([keras.layers.Dense(1)])\n"
            "km.compile('adam', 'mse')\n"
            "km.fit(X, y, epochs=1, verbose=0, callbacks=[keras.callbacks.EarlyStopping(patience=2)])"
        ),
        "import tensorflow as tf\ntf.reduce_mean(tf.constant([1.0, 2.0])), tf.math.log(2.0)",
        "pl.read_csv('data/a.csv').lazy().group_by('a').agg(pl.len()).sort('len', descending=True).collect()",
        "pl.DataFrame({'d': ['2020-01-01']}).with_columns(pl.col('d').str.to_date())",
        "import polars.selectors as cs\npl.from_pandas(df).select(cs.numeric()).describe()",
        "ds = xr.tutorial if False else xr.Dataset({'a': ('x', [1., 2.])})\nds.a.rolling(x=2).mean().to_series()",
        "xr.open_mfdataset('data/*.nc', combine='by_coords').sel(lat=0, method='nearest')",
        "xr.where(ds.a > 1, 1, 0).to_dataframe(name='w').head()",
    ],
}
