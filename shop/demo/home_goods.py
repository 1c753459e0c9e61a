"""For the home: textiles and decoration."""

from shop.demo.goods import DemoPicture, DemoProduct, DemoVariant, colours, sizes

PRODUCTS = (
    DemoProduct(
        slug="wool-throw",
        category="textiles",
        name="Wool throw",
        name_zh="羊毛盖毯",
        description="Lambswool from Inner Mongolia, woven and then brushed until it is soft enough for bare arms. 130 "
        "× 180 cm: one person on the sofa, or two who get on well. It wants air more often than a wash.",
        description_zh="内蒙古羔羊毛，织后拉绒，贴身也柔软。130 × 180 厘米，一个人窝沙发，两个人也够用。平时多晾晒，"
        "少水洗。",
        options=(colours(("Ochre", "赭黄"), ("Sage", "鼠尾草绿"), ("Oat", "燕麦白")),),
        variants=(
            DemoVariant("THROW-OCHRE", 35900, 35, 950, ("Ochre",)),
            DemoVariant("THROW-SAGE", 35900, 35, 950, ("Sage",)),
            DemoVariant("THROW-OAT", 35900, 30, 950, ("Oat",)),
        ),
        pictures=(DemoPicture("home/wool-throw.svg", "Three folded throws on a pile", "叠放的三条羊毛毯"),),
    ),
    DemoProduct(
        slug="linen-cushion",
        category="textiles",
        name="Linen cushion",
        name_zh="亚麻靠垫",
        description="A cover of washed linen with an embroidered leaf, and a filling of feathers that springs back "
        "when you shake it. 45 × 45 cm. The cover has a hidden zip and goes into the machine at 30 °C.",
        description_zh="水洗亚麻外套，叶片刺绣；羽毛内芯，拍一拍就蓬松。45 × 45 厘米。隐形拉链，外套可 30℃ 机洗。",
        options=(colours(("Terracotta", "陶红"), ("Indigo", "靛蓝")),),
        variants=(
            DemoVariant("CUSHION-TERRACOTTA", 12900, 60, 700, ("Terracotta",)),
            DemoVariant("CUSHION-INDIGO", 12900, 60, 700, ("Indigo",)),
        ),
        pictures=(DemoPicture("home/linen-cushion.svg", "Terracotta cushion with a leaf", "绣有叶片的陶红色靠垫"),),
    ),
    DemoProduct(
        slug="stoneware-vase",
        category="decoration",
        name="Stoneware vase",
        name_zh="粗陶花瓶",
        description="Thrown on the wheel and dipped in blue glaze, but for a band of bare clay. The narrow neck holds "
        "a single branch upright. No two are quite alike. 24 cm high and watertight.",
        description_zh="手工拉坯，浸蓝釉，腰间留一圈素坯。窄口设计，一枝也能立得稳。每只略有不同。高 24 厘米，不渗水。",
        variants=(DemoVariant("VASE-24", 16900, 40, 1400),),
        pictures=(
            DemoPicture("home/stoneware-vase.svg", "Blue vase with a branch of plum blossom", "插着梅枝的蓝色花瓶"),
        ),
    ),
    DemoProduct(
        slug="soy-candle",
        category="decoration",
        name="Soy candle, cedar and tea",
        name_zh="雪松茶香大豆蜡烛",
        description="Soy wax with the scent of cedar and green tea, poured into a glass that you will keep. It burns "
        "for fifty hours without soot. Let it burn to the rim the first time, and it will stay even.",
        description_zh="大豆蜡，雪松与绿茶香调，玻璃杯烧完还能留用。可燃五十小时，无黑烟。首次使用请燃至蜡面全部融化，"
        "之后就会平整。",
        options=(sizes(("180 g", "180 克"), ("400 g", "400 克")),),
        variants=(
            DemoVariant("CANDLE-180", 8900, 110, 420, ("180 g",)),
            DemoVariant("CANDLE-400", 15900, 60, 850, ("400 g",)),
        ),
        pictures=(
            DemoPicture(
                "home/soy-candle.svg", "Candle burning in a glass with a green label", "玻璃杯中点燃的香薰蜡烛"
            ),
        ),
    ),
    DemoProduct(
        slug="table-clock",
        category="decoration",
        name="Table clock",
        name_zh="木质座钟",
        description="A walnut clock that does not tick: its hand sweeps. The alarm starts quietly and becomes louder, "
        "and the button on top grants you eight more minutes. Runs for a year on one battery.",
        description_zh="胡桃木外壳，静音扫秒，没有滴答声。闹铃由轻渐响，按一下顶部按钮可再睡八分钟。一节电池可用一年。",
        variants=(DemoVariant("CLOCK-1", 19900, 45, 640),),
        pictures=(DemoPicture("home/table-clock.svg", "Round wooden clock on two feet", "双脚圆形木质座钟"),),
    ),
)
