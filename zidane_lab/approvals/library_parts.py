"""Parts of packages that only compute: the submodules of wide packages, the names of those that do much else.

What a package fetches, writes, loads with code or starts is left out, and with it whatever is added to it one day.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from zidane_lab.approvals.shell_rules import names_in

__all__ = ["PARTS", "SUBMODULES"]

_KERAS: Final = """Sequential Model Input Variable KerasTensor layers optimizers losses metrics activations
    initializers regularizers constraints ops random backend applications datasets models mixed_precision preprocessing
    config callbacks.EarlyStopping callbacks.ReduceLROnPlateau callbacks.LearningRateScheduler callbacks.History
    callbacks.LambdaCallback callbacks.TerminateOnNaN callbacks.Callback callbacks.ProgbarLogger utils.to_categorical
    utils.set_random_seed utils.normalize utils.split_dataset utils.timeseries_dataset_from_array utils.load_img
    utils.img_to_array utils.array_to_img utils.pad_sequences utils.image_dataset_from_directory
    utils.text_dataset_from_directory utils.Sequence utils.PyDataset"""

SUBMODULES: Final[Mapping[str, frozenset[str]]] = {
    "numpy": names_in(
        """random linalg fft ma polynomial lib.stride_tricks lib.recfunctions lib.format lib.scimath char strings rec
        testing typing dtypes exceptions matlib emath version ndarray float64 float32 int64 int32 integer floating
        pi inf nan newaxis c_ r_ s_ mgrid ogrid"""
    ),
    "pandas": names_in("api arrays errors plotting testing tseries util options offsets describe_option"),
    "scipy": names_in(
        """cluster constants differentiate fft fftpack integrate interpolate io linalg misc ndimage odr optimize signal
        sparse spatial special stats version"""
    ),
    "sklearn": names_in(
        """base calibration cluster compose covariance cross_decomposition datasets decomposition discriminant_analysis
        dummy ensemble exceptions experimental feature_extraction feature_selection frozen gaussian_process impute
        inspection isotonic kernel_approximation kernel_ridge linear_model manifold metrics mixture model_selection
        multiclass multioutput naive_bayes neighbors neural_network pipeline preprocessing random_projection
        semi_supervised svm tree utils"""
    ),
    "matplotlib": names_in(
        """animation artist axes axis bezier category cbook cm collections colorbar colorizer colormaps colors
        container contour dates figure font_manager gridspec hatch image inset layout_engine legend legend_handler
        lines markers mathtext mlab offsetbox patches path patheffects projections pylab pyplot quiver rcsetup
        sankey scale spines stackplot streamplot style table text textpath ticker transforms tri typing units
        widgets"""
    ),
    "polars": names_in(
        """api convert dataframe datatypes exceptions expr functions interchange lazyframe meta ml schema selectors
        series sql string_cache testing col datatype_expr"""
    ),
    "pyarrow": names_in("acero compute csv dataset feather interchange ipc json lib orc parquet types"),
    "xarray": names_in(
        """coders coding computation conventions convert groupers indexes namedarray plot structure testing typing
        ufuncs util"""
    ),
    "torch": names_in(
        """nn optim utils linalg fft cuda mps distributions special autograd random sparse amp func masked signal
        nested return_types testing types version backends finfo iinfo float32 float64 int64 strided vmap
        quasirandom compiler functional device dtype"""
    ),
    "tensorflow": names_in(
        """keras math linalg nn random data strings signal image dtypes sparse ragged losses metrics initializers
        optimizers config version autodiff audio bitwise sets nest"""
    ),
    "jax": names_in("numpy scipy nn random lax tree_util tree ops image dtypes typing tree_map"),
    "networkx": names_in(
        "algorithms classes generators utils linalg convert community bipartite approximation centrality "
        "components connectivity flow tree drawing.layout drawing.nx_pylab layout"
    ),
    "sympy": names_in(
        """abc core functions geometry logic matrices ntheory plotting polys series sets simplify solvers stats
        tensor calculus combinatorics integrals concrete assumptions physics printing pi oo"""
    ),
    "statsmodels": names_in(
        """api formula tsa stats regression graphics nonparametric genmod discrete distributions robust multivariate
        tools duration imputation gam othermod miscmodels datasets base iolib.summary iolib.summary2 treatment"""
    ),
    "duckdb": names_in("typing functional sqltypes default_connection"),
    "sqlalchemy": names_in("orm sql types exc schema func ext dialects inspection"),
    "ibis": names_in("expr selectors options udf"),
}
"""Packages whose functions at the top are known, with the submodules that only compute or are judged by name."""

PARTS: Final[Mapping[str, frozenset[str]]] = {
    "keras": names_in(_KERAS),
    "lightgbm": names_in(
        """LGBMClassifier LGBMRegressor LGBMRanker LGBMModel Dataset Booster CVBooster train cv early_stopping
        log_evaluation record_evaluation reset_parameter plot_importance plot_metric plot_tree create_tree_digraph
        plot_split_value_histogram callback sklearn basic register_logger"""
    ),
    "xgboost": names_in(
        """XGBClassifier XGBRegressor XGBRanker XGBRFClassifier XGBRFRegressor XGBModel DMatrix QuantileDMatrix Booster
        train cv plot_importance plot_tree to_graphviz config_context set_config get_config sklearn core
        callback.EarlyStopping callback.LearningRateScheduler callback.EvaluationMonitor callback.TrainingCallback"""
    ),
    "catboost": names_in("""CatBoost CatBoostClassifier CatBoostRegressor CatBoostRanker Pool EFstrType sum_models"""),
    "shap": names_in(
        """Explainer TreeExplainer LinearExplainer KernelExplainer DeepExplainer GradientExplainer PermutationExplainer
        ExactExplainer PartitionExplainer SamplingExplainer AdditiveExplainer Explanation Cohorts plots summary_plot
        force_plot dependence_plot waterfall_plot bar_plot decision_plot multioutput_decision_plot image_plot
        text_plot sample kmeans initjs maskers links utils explainers"""
    ),
    "optuna": names_in(
        """create_study Study Trial trial samplers pruners visualization importance distributions logging TrialPruned
        exceptions study.Study study.StudyDirection study.MaxTrialsCallback search_space terminator"""
    ),
    "tqdm": names_in("tqdm trange auto notebook autonotebook std gui tqdm_notebook tnrange asyncio"),
    "dask": names_in(
        """array dataframe delayed bag compute visualize optimize persist is_dask_collection diagnostics.ProgressBar
        base tokenize typing utils"""
    ),
    "zarr": names_in("open open_group open_array open_consolidated load Array Group core config"),
    "spacy": names_in("blank tokens matcher explain vocab lang language.Language symbols attrs displacy"),
    "nltk": names_in(
        """FreqDist ConditionalFreqDist word_tokenize sent_tokenize wordpunct_tokenize tokenize stem corpus probability
        metrics util collocations ngrams bigrams trigrams everygrams pos_tag ne_chunk Text edit_distance
        jaccard_distance sentiment translate tag chunk tree wsd lm cluster classify BigramCollocationFinder
        RegexpTokenizer PorterStemmer SnowballStemmer WordNetLemmatizer RegexpParser CFG ChartParser"""
    ),
    "gensim": names_in(
        """corpora models utils.simple_preprocess utils.tokenize parsing similarities matutils summarization"""
    ),
    "datasets": names_in(
        """Dataset DatasetDict Features Value ClassLabel Sequence concatenate_datasets interleave_datasets"""
    ),
    "sentence_transformers": names_in("util"),
    "transformers": names_in("set_seed __version__ logging AutoTokenizer AutoModel AutoConfig"),
    "tiktoken": frozenset(),
    "numba": names_in(
        """njit jit prange vectorize guvectorize typed types float32 float64 int32 int64 boolean config
        set_num_threads get_num_threads cuda.is_available __version__"""
    ),
    "altair": names_in(
        """Chart LayerChart FacetChart X Y Color Size Shape Opacity Tooltip Column Row Facet Order Detail Text Theta
        Latitude Longitude Axis Legend Scale Sort SortField EncodingSortField Bin BinParams TitleParams condition
        value datum expr selection_point selection_interval selection_single selection_multi selection
        binding_range binding_select binding_radio binding_checkbox param when layer hconcat vconcat concat repeat
        topo_feature InlineData Data themes theme renderers data_transformers.disable_max_rows limit_rows
        MaxRowsError Gradient GradientStop sequence graticule sphere Parameter Step AggregateOp WindowTransform
        LookupData"""
    ),
    "holoviews": names_in(
        """extension opts dim Curve Scatter Points Bars Histogram HeatMap Image Overlay Layout HoloMap Dataset Table
        Violin BoxWhisker Distribution Area ErrorBars HLine VLine"""
    ),
    "Bio": names_in(
        """SeqIO.parse SeqIO.read SeqIO.to_dict Seq SeqUtils SeqRecord Align AlignIO.read AlignIO.parse Phylo.read
        Phylo.draw pairwise2 motifs Data"""
    ),
    "rdkit": names_in(
        """Chem.MolFromSmiles Chem.MolToSmiles Chem.MolFromSmarts Chem.MolFromInchi Chem.AddHs Chem.Descriptors
        Chem.rdMolDescriptors Chem.Crippen Chem.Lipinski Chem.QED Chem.AllChem Chem.Draw.MolToImage
        Chem.Draw.MolsToGridImage Chem.Draw.IPythonConsole DataStructs RDLogger"""
    ),
    "igraph": names_in("Graph plot VertexClustering"),
    "pyproj": names_in("CRS Transformer Geod Proj crs transformer"),
    "metpy": names_in("calc units constants plots interpolate"),
    "trimesh": names_in("creation Trimesh Scene load_mesh transformations"),
    "bokeh": names_in(
        """plotting.figure plotting.ColumnDataSource models palettes layouts transform colors io.output_notebook
        plotting.output_notebook io.push_notebook io.show_notebook core themes"""
    ),
    "graphviz": names_in("Digraph Graph Source"),
    "torchvision": names_in("transforms models datasets utils ops tv_tensors io.read_image"),
    "torchaudio": names_in("load info transforms functional models compliance"),
    "imageio": names_in("imread mimread volread v2.imread v3.imread v3.immeta v3.improps v3.imiter"),
    "cv2": names_in(
        """imread imdecode imencode cvtColor resize GaussianBlur medianBlur bilateralFilter blur Canny Sobel Laplacian
        threshold adaptiveThreshold findContours drawContours contourArea arcLength approxPolyDP boundingRect
        minAreaRect minEnclosingCircle convexHull moments HuMoments rectangle circle line putText ellipse polylines
        fillPoly dilate erode morphologyEx getStructuringElement warpAffine warpPerspective getRotationMatrix2D
        getPerspectiveTransform flip rotate split merge add subtract multiply addWeighted bitwise_and bitwise_or
        bitwise_not bitwise_xor inRange calcHist equalizeHist createCLAHE matchTemplate minMaxLoc HoughLines
        HoughLinesP HoughCircles connectedComponents connectedComponentsWithStats distanceTransform watershed
        grabCut kmeans ORB_create SIFT_create AKAZE_create BFMatcher drawMatches drawKeypoints goodFeaturesToTrack
        cornerHarris filter2D normalize mean meanStdDev countNonZero copyMakeBorder pyrDown pyrUp absdiff undistort
        dft idft phaseCorrelate calcOpticalFlowFarneback calcOpticalFlowPyrLK fastNlMeansDenoising
        fastNlMeansDenoisingColored hconcat vconcat LUT applyColorMap __version__ error"""
    ),
    "skimage": names_in(
        """color exposure feature filters graph measure metrics morphology registration restoration segmentation
        transform util draw io.imread io.imshow io.imread_collection data.camera data.coins data.astronaut
        data.checkerboard data.coffee data.page data.text data.horse data.moon data.rocket data.cat data.clock"""
    ),
    "cartopy": names_in("crs mpl.gridliner mpl.ticker geodesic util"),
    "astropy": names_in(
        """units constants table time.Time time.TimeDelta coordinates stats modeling wcs convolution cosmology
        timeseries visualization nddata io.fits io.ascii uncertainty"""
    ),
    "sunpy": frozenset(),
    "geopy": names_in("distance point units"),
    "librosa": names_in(
        """load feature stft istft cqt amplitude_to_db db_to_amplitude power_to_db db_to_power onset beat effects
        display times_like frames_to_time time_to_frames frames_to_samples get_duration resample to_mono tone chirp
        clicks magphase hz_to_midi midi_to_hz note_to_hz hz_to_note mel_frequencies fft_frequencies zero_crossings
        pyin yin decompose segment"""
    ),
    "scanpy": names_in("pp tl pl get AnnData read_h5ad read_10x_mtx settings logging metrics"),
    "nibabel": names_in("load Nifti1Image Nifti2Image affines orientations"),
    "pulp": names_in(
        """LpProblem LpVariable lpSum lpDot LpMinimize LpMaximize LpStatus LpContinuous LpInteger LpBinary
        LpAffineExpression value"""
    ),
    "ydata_profiling": names_in("ProfileReport"),
    "skimpy": names_in("skim clean_columns"),
    "psutil": names_in(
        """cpu_percent cpu_count cpu_times cpu_freq cpu_stats virtual_memory swap_memory disk_usage disk_partitions
        disk_io_counters net_io_counters boot_time pids pid_exists process_iter Process sensors_temperatures
        getloadavg __version__"""
    ),
    "memory_profiler": names_in("memory_usage"),
}
"""Packages of which nothing but these parts goes unasked."""
