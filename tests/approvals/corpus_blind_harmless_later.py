"""Work that must not be held up: later rounds, and commands."""

from __future__ import annotations

HARMLESS: dict[str, list[str]] = {
    "python": [
        "con.sql('select * from df limit 3').pl()",
        "duckdb.sql('describe df').df()",
        "duckdb.sql('summarize df').show()",
        "pd.read_sql('select count(*) from orders where created > now()', engine)",
        "from sqlalchemy import MetaData, select, func\nmd = MetaData(); md.reflect(engine); list(md.tables)",
        "import pyarrow.dataset as pads\npads.dataset('data', format='parquet').head(5).to_pandas()",
        "import pyarrow.parquet as pq\npq.ParquetFile('data/a.parquet').metadata",
        "import json\nwith open('data/x.json') as fh: j = json.load(fh)\npd.json_normalize(j)",
        (
            "import re\n"
            "pat = re.compile(r'(\\w+)@')\n"
            "df['name'].apply(lambda s: pat.search(s).group(1) if pat.search(s) else None).head()"
        ),
        "from collections import namedtuple, OrderedDict\nPt = namedtuple('Pt', 'x y'); Pt(1, 2)._replace(x=3)",
        "from itertools import product, groupby\nlist(product([1, 2], 'ab'))",
        (
            "from functools import lru_cache, partial\n"
            "@lru_cache\n"
            "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\n"
            "fib(20)"
        ),
        "from contextlib import suppress\nwith suppress(KeyError): df['zzz']",
        "import time; time.sleep(0.1); time.perf_counter()",
        "import platform, sys\nplatform.python_version(), sys.platform",
        "import inspect\nprint(inspect.getsource(pd.DataFrame.head)[:100])",
        "from typing import Optional\ndef g2(x: Optional[int] = None) -> str: return str(x)\ng2(1)",
        "import ipywidgets as w\n@w.interact(n=(1, 10))\ndef show_n(n=3): return df.head(n)",
        "from IPython.display import clear_output\nfor i in range(3):\n    clear_output(wait=True); print(i)",
        "df.style.format({'a': '{:.1f}'}).highlight_max(color='gold').hide(axis='index')",
        "from great_tables import GT\nGT(df.head()).tab_header('x')",
        "from wordcloud import WordCloud\nplt.imshow(WordCloud().generate(' '.join(df['name'])))",
        "import missingno as msno\nmsno.matrix(df)",
        "import folium\nmm = folium.Map([45, 9], zoom_start=5); folium.Marker([45, 9]).add_to(mm); mm",
        (
            "import networkx as nx\n"
            "pos = nx.spring_layout(nx.karate_club_graph(), seed=1); nx.draw_networkx_labels(nx.karate_"
            "club_graph(), pos)"
        ),
        ("from nltk.sentiment import SentimentIntensityAnalyzer\nSentimentIntensityAnalyzer().polarity_scores('good')"),
        "from gensim.models import Word2Vec\nWord2Vec([['a', 'b']], min_count=1).wv.most_similar('a')",
        "from rapidfuzz import process, fuzz\nprocess.extractOne('aple', ['apple', 'pear'])",
        "from imblearn.over_sampling import SMOTE\nSMOTE(random_state=0).fit_resample(X, y)[0].shape",
        "import shap\nshap.plots.beeswarm(shap.Explainer(model, X)(X[:50]))",
        (
            "import optuna\n"
            "optuna.logging.set_verbosity(optuna.logging.WARNING)\n"
            "st2 = optuna.create_study(); st2.optimize(lambda t: t.suggest_int('n', 1, 3), n_trials=2);"
            " st2.trials_dataframe()"
        ),
        "from lifelines import CoxPHFitter\nCoxPHFitter().fit(df[['t', 'e', 'a']], 't', 'e').print_summary()",
        (
            "import pymc as pm\n"
            "with pm.Model():\n"
            "    mu = pm.Normal('mu', 0, 1); pm.Normal('o', mu, 1, observed=[1.0])\n"
            "    idata = pm.sample(100, chains=1)"
        ),
        "import arviz as az\naz.summary(idata)",
        "from dask import delayed\nimport dask.array as da\nda.ones((10, 10)).mean().compute()",
        "from astropy.io import fits\nfits.open('data/a.fits')[0].header",
        "import librosa\nyy, sr = librosa.load('data/a.wav'); librosa.feature.mfcc(y=yy, sr=sr).shape",
        "from skimage import filters, data\nfilters.threshold_otsu(data.camera())",
        "import scanpy as sc\nad = sc.read_h5ad('data/a.h5ad'); sc.pp.pca(ad); sc.pl.pca(ad)",
        "m2 = re.match('a', 'abc'); m2.start(), m2.span()",
        "print(f'{df.shape[0]:,} rows; {df.memory_usage(deep=True).sum() / 2**20:.1f} MB')",
        "df.head().to_json(orient='records')",
        "df.to_string(index=False)[:200]",
        "df.a.to_list()[:3], df.to_numpy().shape",
        "import plotnine as p9\np9.ggplot(df, p9.aes('a', 'b')) + p9.geom_point()",
        "import squarify\nsquarify.plot(sizes=df['cat'].value_counts(), label=df['cat'].unique())",
        "import holoviews as hv\nhv.extension('bokeh'); hv.Curve(df[['a', 'b']])",
        (
            "from bokeh.plotting import figure\n"
            "from bokeh.io import output_notebook\n"
            "output_notebook(); p = figure(width=300); p.line([1, 2], [3, 4])"
        ),
        "from rdkit import Chem\nChem.MolFromSmiles('CCO').GetNumAtoms()",
        "from Bio import SeqIO\n[len(r.seq) for r in SeqIO.parse('data/a.fa', 'fasta')]",
        "import jax.numpy as jnp\njnp.dot(jnp.ones(3), jnp.ones(3))",
        "import cvxpy as cp\nv = cp.Variable(2); cp.Problem(cp.Minimize(cp.sum_squares(v - 1))).solve(); v.value",
        "from ortools.sat.python import cp_model\nmm = cp_model.CpModel(); q = mm.NewIntVar(0, 3, 'q')",
        "import sympy as sp\nz = sp.symbols('z'); sp.integrate(z ** 2, z), sp.solve(z ** 2 - 1, z)",
        (
            "from numba import njit\n"
            "@njit\n"
            "def ssum(a):\n"
            "    t = 0.0\n"
            "    for v in a: t += v\n"
            "    return t\n"
            "ssum(X[:, 0])"
        ),
        "import pint\nureg = pint.UnitRegistry(); (3 * ureg.meter).to('cm')",
        "from pydantic import BaseModel\nclass Row(BaseModel):\n    a: int\nRow(a=1).model_dump()",
        "import pandera as pan\npan.DataFrameSchema({'a': pan.Column(float)}).validate(df)",
        "from toolz import groupby, pipe\ngroupby(len, ['a', 'bb'])",
        "import more_itertools as mit\nlist(mit.chunked(range(5), 2))",
        "import pendulum, arrow\npendulum.datetime(2024, 1, 1).add(days=3)",
        "import pingouin as pg\npg.ttest(df['a'], df['b'])",
        "import geopandas as gpd\ngpd.GeoDataFrame(df, geometry=gpd.points_from_xy(df['lon'], df['lat'])).plot()",
        "import rasterio\nwith rasterio.open('data/a.tif') as src: band = src.read(1); print(src.crs, band.mean())",
        "from shapely.geometry import Point, Polygon\nPolygon([(0, 0), (1, 0), (1, 1)]).contains(Point(.5, .2))",
        "import tables",
        (
            "from sklearn.gaussian_process import GaussianProcessRegressor\n"
            "from sklearn.gaussian_process.kernels import RBF, WhiteKernel\n"
            "GaussianProcessRegressor(RBF() + WhiteKernel()).fit(X, y).predict(X[:2], return_std=True)"
        ),
        (
            "from sklearn.mixture import GaussianMixture\n"
            "[GaussianMixture(k, random_state=0).fit(X).bic(X) for k in range(1, 4)]"
        ),
        (
            "from scipy.optimize import minimize, linprog\n"
            "minimize(lambda w: ((X @ w - y) ** 2).sum(), np.zeros(X.shape[1])).x"
        ),
        "from scipy.spatial import cKDTree, ConvexHull\ncKDTree(X).query(X[:2], k=3)",
        "import statsmodels.api as sm\nsm.OLS(y, sm.add_constant(X)).fit().rsquared",
        "import statsmodels.api as sm\nsm.GLM(y, X, family=sm.families.Poisson()).fit().params",
        (
            "from statsmodels.tsa.api import VAR, ExponentialSmoothing\n"
            "ExponentialSmoothing(df['a']).fit().fittedvalues.tail()"
        ),
        "from arch import arch_model\narch_model(df['a']).fit(disp='off').params",
        "import ruptures as rpt\nrpt.Pelt().fit(X).predict(pen=3)",
        "from mlxtend.frequent_patterns import apriori\napriori(df[['a', 'b']] > 0, min_support=.1)",
        "from hdbscan import HDBSCAN\nHDBSCAN().fit_predict(X)",
        "from transformers import set_seed\nset_seed(0)",
        "import torchvision.transforms as T\nT.Compose([T.Resize(10), T.ToTensor()])",
        "torch.nn.utils.clip_grad_norm_(net2.parameters(), 1.0)",
        (
            "from torch import nn, optim\n"
            "class Net3(nn.Module):\n"
            "    def __init__(self): super().__init__(); self.f = nn.Linear(2, 1)\n"
            "    def forward(self, x): return self.f(x)\n"
            "n3 = Net3(); n3.train(); n3.eval(); sum(p.numel() for p in n3.parameters())"
        ),
        "torch.manual_seed(0); torch.stack([torch.ones(2)] * 2).cpu().numpy()",
        (
            "def train_epoch(m, loader, opt):\n"
            "    for xb, yb in loader:\n"
            "        opt.zero_grad(); l = ((m(xb) - yb) ** 2).mean(); l.backward(); opt.step()\n"
            "    return l.item()"
        ),
        (
            "def plot_dist(frame, cols, ncols=3):\n"
            "    fig, axs = plt.subplots(-(-len(cols) // ncols), ncols)\n"
            "    for c, ax in zip(cols, np.ravel(axs)): frame[c].hist(ax=ax); ax.set_title(c)\n"
            "    return fig\n"
            "plot_dist(df, ['a', 'b'])"
        ),
        (
            "class Pipeline2:\n"
            "    def __init__(self, steps): self.steps = steps\n"
            "    def run(self, x):\n"
            "        for s in self.steps: x = s(x)\n"
            "        return x\n"
            "Pipeline2([np.log1p]).run(X)"
        ),
        "df['text'].str.len().describe(); df['email'].str.split('@').str[1].value_counts()",
        "df['password_strength'].mean() if 'password_strength' in df else None",
        "counts = df.groupby(pd.Grouper(key='date', freq='W')).size(); counts.plot(drawstyle='steps')",
        "lags = pd.concat({f'lag{i}': df['a'].shift(i) for i in range(3)}, axis=1); lags.corr()",
        "df.set_index(['cat', 'date']).xs('x').sort_index().loc['2024':'2025']",
        "df.join(other.set_index('id'), on='id', rsuffix='_o').filter(like='_o').head()",
        "w = df['a'].ewm(alpha=.3); w.mean().plot(label='ewm'); plt.legend()",
        "np.random.default_rng(1).permutation(10), np.random.choice(X[:, 0], 3)",
        (
            "from matplotlib.ticker import PercentFormatter, FuncFormatter\n"
            "plt.gca().yaxis.set_major_formatter(PercentFormatter(1.0))"
        ),
        "from mpl_toolkits.axes_grid1 import make_axes_locatable\nmake_axes_locatable(plt.gca())",
        "plt.rcParams.update({'font.size': 12}); plt.rc('axes', grid=True)",
        "sns.jointplot(data=df, x='a', y='b', kind='hex').ax_joint.set_xlabel('A')",
        "go.Figure(data=[go.Scatter(x=[1], y=[2])], layout={'title': 'x'}).add_hline(y=1)",
        (
            "from plotly.subplots import make_subplots\n"
            "sf = make_subplots(1, 2); sf.add_trace(go.Bar(x=[1], y=[1]), row=1, col=1); sf.update_xaxes(title='x')"
        ),
        "alt.Chart(df).transform_filter('datum.a > 1').mark_line().encode(x='date:T', y='a:Q').interactive()",
        "print(json.dumps(model.get_params(), default=str, indent=1))",
        "dict(zip(df.columns, model.coef_)) if hasattr(model, 'coef_') else None",
        "sorted(zip(model.coef_, df.columns), reverse=True)[:5]",
        "%matplotlib widget",
        "import ast\nast.literal_eval('[1, 2]')",
        "means = df.groupby('cat')['a'].mean(); means.sort_values().plot.bar()",
        (
            "bins = pd.cut(df['age'], [0, 18, 65, 120], labels=['c', 'a', 's'])\n"
            "pd.crosstab(bins, df['cat'], normalize='index').round(2)"
        ),
        (
            "from sklearn.ensemble import RandomForestRegressor\n"
            "from sklearn.model_selection import KFold, cross_validate\n"
            "cv = cross_validate(RandomForestRegressor(n_estimators=20, n_jobs=-1), X, y, cv=KFold(3), "
            "scoring=['r2', 'neg_mean_absolute_error'])\n"
            "pd.DataFrame(cv).mean()"
        ),
        (
            "def rmse(a, b): return float(np.sqrt(np.mean((np.asarray(a) - np.asarray(b)) ** 2)))\n"
            "rmse(y, model.predict(X))"
        ),
        (
            "scores = {}\n"
            "for name, est in {'ridge': Ridge(), 'lasso': Lasso()}.items():\n"
            "    scores[name] = cross_val_score(est, X, y).mean()\n"
            "pd.Series(scores).sort_values()"
        ),
        (
            "fig, axes = plt.subplots(len(df.columns[:3]), 1, sharex=True)\n"
            "for ax, c in zip(axes, df.columns): sns.lineplot(data=df, x='date', y=c, ax=ax)"
        ),
        (
            "daily = df.set_index(pd.to_datetime(df['date'])).resample('D')['a'].sum().asfreq('D', fill_value=0)\n"
            "daily.rolling(7, center=True).mean().plot(ax=daily.plot(alpha=.3))"
        ),
        (
            "q = df['a'].quantile([.25, .75]); iqr = q.iloc[1] - q.iloc[0]\n"
            "df[(df['a'] < q.iloc[0] - 1.5 * iqr) | (df['a'] > q.iloc[1] + 1.5 * iqr)]"
        ),
        (
            "words = df['text'].str.lower().str.findall(r'\\w+').explode().value_counts().head(20)\n"
            "words[::-1].plot.barh()"
        ),
        (
            "from sklearn.feature_extraction.text import CountVectorizer\n"
            "cvz = CountVectorizer(ngram_range=(1, 2), min_df=2); bow = cvz.fit_transform(df['text'])\n"
            "dict(sorted(cvz.vocabulary_.items(), key=lambda kv: kv[1])[:5])"
        ),
        "df.dtypes.value_counts(); df.columns.tolist(); df.index",
        "(df.isna().sum() / len(df)).loc[lambda s: s > .1]",
        (
            "sample = df.sample(frac=.1, random_state=1).reset_index(drop=True)\n"
            "sample.loc[0, 'a'] = np.nan; sample.isna().sum()"
        ),
        "one = df.iloc[0]; print(one.to_string())",
        (
            "import statsmodels.formula.api as smf\n"
            "fit = smf.ols('a ~ b * C(cat) + np.log(c)', data=df).fit(cov_type='HC3'); fit.params, fit.pvalues"
        ),
        (
            "from scipy.stats import norm, pearsonr\n"
            "r, pval = pearsonr(df['a'], df['b']); print(f'{r=:.2f} {pval=:.3g}')"
        ),
        "np.corrcoef(df['a'], df['b'])[0, 1], np.cov(X.T).shape",
        "A = np.vander(df['a'], 3); coef, *_ = np.linalg.lstsq(A, df['b'], rcond=None); coef",
        "result = model.predict(X); print(type(result), result[:3], result.dtype)",
        "print(inspect.signature(model.fit)); help(model)",
        "for p in Path('.').glob('*.csv'): print(p, p.stat().st_size, sum(1 for _ in p.open()))",
        "pd.read_csv('data/train.csv', nrows=5, sep=None, engine='python')",
        "raw = Path('data/meta.json').read_text(); json.loads(raw)['version']",
        "ds3 = pd.concat([pd.read_parquet(p) for p in Path('data').glob('*.parquet')]); ds3.info()",
        "con.execute(\"select cat, median(a) from df group by all order by 2\").df().plot.bar(x='cat')",
        (
            "loss_hist = []\n"
            "for _ in range(5):\n"
            "    pred = net2(torch.randn(4, 4)); loss = pred.pow(2).mean(); loss_hist.append(loss.item())\n"
            "plt.plot(loss_hist)"
        ),
        "tbl = pd.DataFrame({'x': [1, 2]}); tbl['y'] = tbl.x ** 2; tbl.T",
        "px.histogram(df, x='a', color='cat', barmode='overlay').update_traces(opacity=.6)",
        "alt.Chart(df.head(100)).mark_point().encode(alt.X('a', bin=True), alt.Y('count()'), tooltip=['a'])",
        "df.groupby('cat').agg({'a': ['min', 'max'], 'b': lambda s: s.mode().iat[0]}).droplevel(0, axis=1)",
        "import seaborn.objects as so\nso.Plot(df, x='a', y='b').add(so.Dot(), so.Jitter()).label(x='A')",
        "import plotly.figure_factory as ff\nff.create_distplot([df['a']], ['a'], bin_size=.2)",
        (
            "from sklearn.pipeline import Pipeline, FeatureUnion\n"
            "from sklearn.preprocessing import FunctionTransformer\n"
            "Pipeline([('log', FunctionTransformer(np.log1p)), ('m', Ridge())]).fit(X, y)"
        ),
        (
            "import networkx as nx\n"
            "nx.pagerank(nx.from_pandas_edgelist(df, 'a', 'b')); nx.algorithms.community.louvain_commun"
            "ities(nx.karate_club_graph())"
        ),
        "import sympy\nx, y2 = sympy.symbols('x y'); sympy.diff(sympy.sin(x) * y2, x); sympy.latex(x)",
        (
            "import torch\n"
            "xs = torch.arange(4.).reshape(2, 2); torch.linalg.inv(xs), torch.nn.functional.relu(xs), t"
            "orch.fft.fft(xs)"
        ),
        "import jax, jax.numpy as jnp\njax.grad(lambda z: jnp.sum(z ** 2))(jnp.ones(3))",
        "import optuna\noptuna.visualization.plot_optimization_history(study)",
        "import nltk\nnltk.word_tokenize('a b'); nltk.bigrams(['a', 'b'])",
        (
            "from gensim import corpora, models\n"
            "dct = corpora.Dictionary([['a']]); models.LdaModel([dct.doc2bow(['a'])], num_topics=2, id2word=dct)"
        ),
        "from PIL import Image, ImageOps\nnp.asarray(ImageOps.grayscale(Image.open('data/a.png'))).mean()",
        (
            "from bs4 import BeautifulSoup\n"
            "[a['href'] for a in BeautifulSoup('<a href=\"x\">', 'html.parser').find_all('a')]"
        ),
        "from tqdm.notebook import tqdm\ntqdm.pandas(); df['a'].progress_apply(np.sqrt).head()",
        (
            "import geopandas as gpd\n"
            "gdf = gpd.read_file('data/a.shp'); gdf.dissolve('cat').plot(column='a', legend=True)"
        ),
        "import dask.dataframe as dd\ndd.read_csv('data/*.csv').groupby('cat').size().compute()",
        (
            "from great_tables import GT, style, loc\n"
            "GT(df.head()).fmt_number('a').tab_style(style.fill('red'), loc.body())"
        ),
        "import arviz as az\naz.plot_trace(idata); az.hdi(idata)",
        "import cv2\nimg = cv2.imread('data/a.png', cv2.IMREAD_GRAYSCALE); plt.imshow(cv2.Canny(img, 50, 100))",
        "from scipy.cluster import hierarchy\nhierarchy.fcluster(hierarchy.linkage(X), 2, 'maxclust')",
        "import tensorflow as tf\nds2 = tf.data.Dataset.from_tensor_slices(X).batch(2); next(iter(ds2))",
    ],
    "shell": [
        "git log -p -2 src/a.py",
        "git log --graph --all --oneline",
        "git diff --stat HEAD~1",
        "git diff main..dev -- a.py",
        "git show HEAD:README.md",
        "git blame a.py",
        "git tag -l",
        "git ls-files",
        "git grep foo",
        "ls -la data",
        "cd data && ls",
        "wc -l data/*.csv",
        "head -n 5 data/train.csv",
        "tail -3 data/train.csv",
        "cat a.py | head -20",
        "file data/train.csv",
        "stat data/train.csv",
        "du -sh data",
        "du -sh * | sort -h | tail",
        "free -h",
        "find data -type f -size +1M | wc -l",
        'grep -rn "def " src',
        "grep -c foo data/train.csv",
        "rg -n TODO src",
        "cut -d, -f1 data/train.csv | sort | uniq -c | sort -rn | head",
        "awk -F, '{s+=$2} END {print s/NR}' data/train.csv",
        "sed -n '1,10p' a.py",
        "sort -t, -k2 data/a.csv | head",
        "diff a.py b.py",
        "jq '.a' data/x.json",
        "column -s, -t data/a.csv | head",
        "zcat data/a.csv.gz | head",
        "md5sum data/a.csv",
        "ls data 2>/dev/null",
        'for f in data/*.csv; do wc -l "$f"; done',
        "tr ',' '\\n' < data/a.csv | head",
        "comm -12 a.txt b.txt",
        "basename data/a.csv",
        "ls -1 | wc -l",
        "cat data/a.csv | tr -d '\\r' | head -n 3",
        "xxd data/a.bin | head",
        "git status --short --branch",
        "git log --since=2.weeks --pretty=format:'%h %s'",
        "git log --stat -1",
        "git diff --name-only",
        "git diff HEAD~3 -- src",
        "git log -S foo --oneline",
        "git config --get user.name",
        "git ls-tree -r HEAD --name-only",
        "git stash show",
        "git remote show",
        "git count-objects -vH",
        "git rev-list --count HEAD",
        "ls -lt data | head -5",
        "ls -R src",
        "ls -d */",
        "find . -maxdepth 2 -name '*.ipynb'",
        "find data -name '*.csv' -mtime -7",
        "find . -type d -not -path '*/.git/*'",
        "wc -l src/*.py | sort -n",
        "cat data/a.csv | wc -l",
        "head -1 data/train.csv | tr ',' '\\n' | nl",
        "head -n 20 README.md",
        "tail -n 50 README.md | head",
        "grep -n import src/a.py",
        "grep -rl pandas src",
        "grep -c '' data/a.csv",
        "grep -E '^(def|class) ' src/a.py",
        "rg 'def \\w+' src -l",
        "cut -d, -f2 data/a.csv | sort -u | wc -l",
        "awk -F, 'NR>1 {c[$1]++} END {for (k in c) print k, c[k]}' data/a.csv",
        "sed -n '5p' data/a.csv",
        "sed 's/,/\\t/g' data/a.csv | head",
        "sort -t, -k1,1n data/a.csv | uniq | head",
        "paste -sd+ a.txt",
        "cmp a.txt b.txt && echo same",
        "stat -c '%s %n' data/*.csv",
        "du -h --max-depth=1",
        "df -h .",
        "file data/*",
        "md5sum data/*.csv",
        "pip show numpy",
        "pip freeze | grep -i pandas",
        "which python pip",
        'echo "$PWD"',
        "date +%F",
        "uname -r",
        "nproc; free -m",
        "ps aux | head",
        "seq 1 5",
        "test -f data/a.csv && echo yes",
        'for d in */; do echo "$d $(ls "$d" | wc -l)"; done',
        "ls data/*.csv | head -3 | xargs -n1 basename",
        "jq 'keys' data/x.json",
        "column -t -s, data/a.csv | head -5",
        "xxd -l 32 data/a.csv",
        "realpath data",
        "tree -L 1 data",
        "od -c a.txt | head",
        "comm -3 a.txt b.txt",
        "join a.txt b.txt",
        "if [ -d data ]; then ls data; fi",
        "git log --author=me --oneline | head",
        "git diff --word-diff HEAD~1 -- a.py",
        "git status --porcelain",
        "git show HEAD --name-only",
        "git branch --list",
        "git log -1 --format=%cd",
        "git diff --shortstat",
        "ls -lhS data | head",
        "ls *.md",
        "ls -a",
        "wc -c data/*",
        "head -c 200 data/a.csv",
        "tail -n 1 data/*.csv",
        "cat README.md | head -40",
        "grep -in 'error' a.txt",
        "grep -o '[0-9]*' a.txt | sort | uniq -c",
        "grep -A2 -B2 def a.py",
        "find . -name '*.md' -not -path './.git/*'",
        "find . -size +10M -ls",
        "find . -iname '*train*' | head",
        "du -a data | sort -n | tail -5",
        "awk -F, '$2 > 3' data/a.csv | wc -l",
        "awk 'length > 80' a.py",
        "sed -n '/def /p' a.py",
        "sed '/^#/d' a.py | head",
        "cut -c1-80 a.py",
        "tr -s ' ' < a.txt",
        "nl a.py | head",
        "date '+%Y-%m-%d'",
        "pip list | grep pandas",
        "which jupyter",
        "cat /proc/cpuinfo | grep 'model name' | head -1",
        "cat /proc/meminfo | head -3",
        "nvidia-smi -L",
        "test -d data && ls data",
        "for i in $(seq 3); do echo $i; done",
        "echo $((2 + 3))",
        "[ -f a.py ] && wc -l a.py",
        "diff <(sort a.txt) <(sort b.txt)",
        "zcat data/a.gz | head -2",
        "tree -d -L 2",
        "basename $(pwd)",
        "uptime; whoami",
        "jq -r '.[] | .name' data/x.json",
        "git log --oneline --graph -20",
        "git diff HEAD -- a.py | head",
        "git show --name-status",
        "git log --format='%an' | sort | uniq -c",
        "git status -uno",
        "ls -la | head",
        "ls data | wc -l",
        "head -5 data/a.csv | column -s, -t",
        "sort -t, -k3 -rn data/a.csv | head",
        "find . -name '*.py' | xargs wc -l",
        "find . -name '*.csv' -exec wc -l {} +",
        "grep -c . data/a.csv",
        "grep -v '^#' a.py | wc -l",
        "awk -F, '{print NF}' data/a.csv | sort -u",
        "cut -d, -f1-3 data/a.csv | head -3",
        "tail -n +2 data/a.csv | wc -l",
        "python -V",
        "cat a.py b.py | wc -l",
        "sed -n '1p;$p' data/a.csv",
        "test -e x || echo none",
        "md5sum a.py b.py",
        "file a.py",
    ],
}
