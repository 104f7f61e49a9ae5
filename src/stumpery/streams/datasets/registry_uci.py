"""Datasets of the UCI Machine Learning Repository."""

from typing import Any

from stumpery.streams.datasets.dataset import Dataset, names, numbers

_UCI_SITE = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_REPOSITORY = "UCI Machine Learning Repository"
_CC_BY = "CC BY 4.0"


def _uci(*, files: tuple[str, ...], citation: str, **facts: Any) -> Dataset:
    origin = tuple(f"{_UCI_SITE}/{file}" for file in files)
    return Dataset(origin=origin, citation=f"{citation}, {_REPOSITORY}", licence=_CC_BY, **facts)


def _census(name: str, **facts: Any) -> Dataset:
    citation = f"Meek, Thiesson and Heckerman (2001), US Census Data (1990), {_REPOSITORY}"
    return Dataset(name=name, citation=citation, licence=f"{_CC_BY}; US government data", **facts)


COVTYPE = _uci(
    name="covtype",
    title="Forest cover type from cartographic variables",
    columns=numbers(
        "Elevation Aspect Slope Horizontal_Distance_To_Hydrology Vertical_Distance_To_Hydrology",
        "Horizontal_Distance_To_Roadways Hillshade_9am Hillshade_Noon Hillshade_3pm",
        "Horizontal_Distance_To_Fire_Points",
        *(f"Wilderness_Area{area}" for area in range(1, 5)),
        *(f"Soil_Type{soil}" for soil in range(1, 41)),
        "Cover_Type",
    ),
    target="Cover_Type",
    n_rows=581_012,
    class_counts=dict(zip("1234567", (211_840, 283_301, 35_754, 2_747, 9_493, 17_367, 20_510), strict=True)),
    files=("covtype/covtype.data.gz",),
    citation="Blackard (1998), Covertype",
    note="Original units; the area and the soil are one bit per value.",
    sha256="ee54ef6b73a6b279945c5202e49341c238a554bbcc73297c7444c6b1de7205d2",
)

ADULT = _uci(
    name="adult",
    title="Income above 50,000 dollars from the 1994 US census",
    columns=(
        *numbers("age"),
        *names("workclass"),
        *numbers("fnlwgt"),
        *names("education"),
        *numbers("education-num"),
        *names("marital-status occupation relationship race sex"),
        *numbers("capital-gain capital-loss hours-per-week"),
        *names("native-country income"),
    ),
    target="income",
    n_rows=48_842,
    class_counts={"<=50K": 37_155, ">50K": 11_687},
    files=("adult/adult.data", "adult/adult.test"),
    format="adult",
    citation="Becker and Kohavi (1996), Adult",
    note="The first 32,561 rows are the training part; `occupation` is another usual target.",
    sha256="392d7dd706349e79615ff1c42b990c7c2805eed8a3e8b4f9bfbb42e4962ded02",
)

MUSHROOM = _uci(
    name="mushroom",
    title="Edible and poisonous mushrooms",
    columns=names(
        "class cap-shape cap-surface cap-color bruises odor gill-attachment gill-spacing gill-size",
        "gill-color stalk-shape stalk-root stalk-surface-above-ring stalk-surface-below-ring",
        "stalk-color-above-ring stalk-color-below-ring veil-type veil-color ring-number ring-type",
        "spore-print-color population habitat",
    ),
    target="class",
    n_rows=8_124,
    class_counts={"e": 4_208, "p": 3_916},
    files=("mushroom/agaricus-lepiota.data",),
    citation="Mushroom (1987)",
    note="Values are letters; `stalk-root` is missing in 2,480 rows.",
    sha256="0a457dd77fb6a494009b99898d06d912f8649ca065ce6a1f3cae6708db196523",
)

NURSERY = _uci(
    name="nursery",
    title="Ranking of applications for nursery schools",
    columns=names("parents has_nurs form children housing finance social health class"),
    target="class",
    n_rows=12_960,
    class_counts={
        "not_recom": 4_320,
        "priority": 4_266,
        "recommend": 2,
        "spec_prior": 4_044,
        "very_recom": 328,
    },
    files=("nursery/nursery.data",),
    citation="Rajkovic (1989), Nursery",
    note="Every combination of the attributes once, in order: shuffle it to make a stream.",
    sha256="3410c1b09d7cb5602957b9cf6a725b3308488cbf017078b411b7d747bf7484a4",
)

POKER = _uci(
    name="poker",
    title="Hands of five playing cards",
    columns=numbers(*(f"{what}{card}" for card in range(1, 6) for what in "SC"), "CLASS"),
    target="CLASS",
    n_rows=1_025_010,
    class_counts=dict(
        zip("0123456789", (513_702, 433_097, 48_828, 21_634, 3_978, 2_050, 1_460, 236, 17, 8), strict=True)
    ),
    files=("poker/poker-hand-training-true.data", "poker/poker-hand-testing.data"),
    citation="Cattral and Oppacher (2002), Poker Hand",
    note="The first 25,010 rows are the training part; S is the suit and C the rank of a card.",
    sha256="84584f4bd54a93142ebb0183fd5a146ee056fcb700e021ce37f18292fa91e3ea",
    sha256_rows=125_008,
)

SKIN = _uci(
    name="skin",
    title="Skin and other pixels of photographs",
    columns=numbers("B G R class"),
    target="class",
    n_rows=245_057,
    class_counts={"1": 50_859, "2": 194_198},
    files=("00229/Skin_NonSkin.txt",),
    format="spaces",
    citation="Bhatt and Dhall (2012), Skin Segmentation",
    note="Class 1 is skin; the rows are sorted by class: shuffle them to make a stream.",
    sha256="1fa0e842bb903d729c57b59e790a93df4718a5ffd3f1153fe26d1b6b03ca7d77",
)

_SPAM_WORDS = (
    "make address all 3d our over remove internet order mail receive will people report addresses free "
    "business email you credit your font 000 money hp hpl george 650 lab labs telnet 857 data 415 85 "
    "technology 1999 parts pm direct cs meeting original project re edu table conference"
)

SPAMBASE = _uci(
    name="spambase",
    title="Spam and other e-mail by the frequency of words",
    columns=numbers(
        *(f"word_freq_{word}" for word in _SPAM_WORDS.split()),
        *(f"char_freq_{sign}" for sign in ";([!$#"),
        *(f"capital_run_length_{what}" for what in ("average", "longest", "total")),
        "class",
    ),
    target="class",
    n_rows=4_601,
    class_counts={"0": 2_788, "1": 1_813},
    files=("spambase/spambase.data",),
    citation="Hopkins, Reeber, Forman and Suermondt (1999), Spambase",
    note="Class 1 is spam; the rows are sorted by class: shuffle them to make a stream.",
    sha256="a12120623f1f0744939392671c034769e9d81ebbfb8b2533d3c01f66bcc05afb",
)

_CENSUS_COLUMNS = numbers(
    "caseid dAge dAncstry1 dAncstry2 iAvail iCitizen iClass dDepart iDisabl1 iDisabl2 iEnglish",
    "iFeb55 iFertil dHispanic dHour89 dHours iImmigr",
    *(f"dIncome{source}" for source in range(1, 9)),
    "dIndustry iKorean iLang1 iLooking iMarital iMay75880 iMeans iMilitary iMobility iMobillim",
    "dOccup iOthrserv iPerscare dPOB dPoverty dPwgt1 iRagechld dRearning iRelat1 iRelat2",
    "iRemplpar iRiders iRlabor iRownchld dRpincome iRPOB iRrelchld iRspouse iRvetserv iSchool",
    "iSept80 iSex iSubfam1 iSubfam2 iTmpabsnt dTravtime iVietnam dWeek89 iWork89 iWorklwk",
    "iWWII iYearsch iYearwrk dYrsserv",
)

USCENSUS1990 = _census(
    "uscensus1990",
    title="One person in a hundred of the 1990 US census",
    columns=_CENSUS_COLUMNS,
    target="iYearsch",
    n_rows=2_458_285,
    origin=(f"{_UCI_SITE}/census1990-mld/USCensus1990.data.txt",),
    format="csv with header",
    note="`caseid` numbers the rows; the target, years of schooling, has 18 classes.",
    sha256="16fb8166d97feda8c78edd61a837856a6340a3b58901a1fb8ab38f4c0ff8c48b",
    sha256_rows=199,
)

USCENSUS1990_FRAGMENT = _census(
    "uscensus1990_fragment",
    title="The first 199 and the last 22 rows of uscensus1990",
    columns=_CENSUS_COLUMNS,
    target="iYearsch",
    n_rows=221,
    note="Shows the columns; too short for anything else.",
    sha256="d38ef0e7232b4f9276cf07be0868d440a1a0f39c93be092213df96422567833a",
    part_of="uscensus1990",
)

USCENSUS1990_ICLASS20K = _census(
    "uscensus1990_iclass20k",
    title="Government employees and others, 20,000 rows of uscensus1990",
    columns=numbers(
        "dAge iCitizen iDisabl1 iDisabl2 iEnglish iImmigr iLang1 iMarital iRlabor iSchool iSex",
        "iYearsch iClass_B",
    ),
    target="iClass_B",
    n_rows=20_000,
    class_counts={"-1": 10_000, "1": 10_000},
    note="Shuffled, as many of one class as of the other, and 12 of the 68 attributes.",
    sha256="048895319b5070f8425bc784fb1a7857de1e5b977cc9af16e994fc079c1643d2",
    part_of="uscensus1990",
)

UCI = (
    COVTYPE,
    ADULT,
    MUSHROOM,
    NURSERY,
    POKER,
    SKIN,
    SPAMBASE,
    USCENSUS1990,
    USCENSUS1990_FRAGMENT,
    USCENSUS1990_ICLASS20K,
)
