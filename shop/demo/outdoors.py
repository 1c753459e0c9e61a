"""For the way to work and the way up the mountain: bags and camping."""

from shop.demo.goods import DemoOption, DemoPicture, DemoProduct, DemoValue, DemoVariant, colours

PRODUCTS = (
    DemoProduct(
        slug="day-pack",
        category="bags",
        name="Day pack, 22 litres",
        name_zh="22 升双肩包",
        description="A pack for the office on Friday and the hills on Saturday. The fabric keeps the rain out, and "
        "the mesh at the back lets the air through. There is a sleeve for a 15-inch laptop, a pocket for a bottle on "
        "each side, and a hidden one for the passport. 780 g.",
        description_zh="周五上班、周六爬山，一只就够。面料防雨，背部网面透气。可放 15 英寸笔记本电脑，两侧水壶袋，背"
        "面暗袋可放证件。重 780 克。",
        options=(colours(("Pine", "松绿"), ("Ochre", "赭黄")),),
        variants=(
            DemoVariant("DAYPACK-PINE", 32900, 80, 780, ("Pine",)),
            DemoVariant("DAYPACK-OCHRE", 32900, 50, 780, ("Ochre",)),
        ),
        pictures=(
            DemoPicture("outdoors/day-pack.svg", "Green day pack with a yellow pocket", "带黄色前袋的绿色双肩包"),
            DemoPicture("outdoors/day-pack-2.svg", "The back of the pack with its straps", "双肩包背面与肩带"),
        ),
    ),
    DemoProduct(
        slug="canvas-tote",
        category="bags",
        name="Canvas tote bag",
        name_zh="帆布托特包",
        description="Heavy cotton canvas, sewn twice where it matters, with handles long enough for the shoulder. It "
        "carries 15 kg of groceries and folds into a coat pocket. The mountains are printed by hand.",
        description_zh="加厚纯棉帆布，受力处双线加固，提手够长，可肩背。能装 15 公斤的菜，折起来能放进外套口袋。山景"
        "图案手工丝印。",
        variants=(DemoVariant("TOTE-1", 6900, 140, 260),),
        pictures=(
            DemoPicture("outdoors/canvas-tote.svg", "Light canvas bag printed with mountains", "印有山景的帆布包"),
        ),
    ),
    DemoProduct(
        slug="vacuum-flask",
        category="camping",
        name="Vacuum flask",
        name_zh="保温壶",
        description="Tea that is still hot when you come home: 24 hours warm or 36 hours cold. The lid is the cup, "
        "the stopper pours without being taken off, and the handle fits a gloved hand. Steel inside and out, no taste "
        "of yesterday.",
        description_zh="早上装的茶，回家还是热的：保温 24 小时，保冷 36 小时。壶盖即茶杯，壶塞无需取下即可倒水，戴手"
        "套也握得住。内外不锈钢，不留异味。",
        options=(DemoOption("Volume", "容量", (DemoValue("0.75 l", "0.75 升"), DemoValue("1.2 l", "1.2 升"))),),
        variants=(
            DemoVariant("FLASK-075", 15900, 90, 620, ("0.75 l",)),
            DemoVariant("FLASK-120", 18900, 60, 780, ("1.2 l",)),
        ),
        pictures=(
            DemoPicture("outdoors/vacuum-flask.svg", "Red flask beside a cup of hot tea", "红色保温壶与一杯热茶"),
        ),
    ),
    DemoProduct(
        slug="two-person-tent",
        category="camping",
        name="Two-person tent",
        name_zh="双人帐篷",
        description="Up in eight minutes, also by one person and in the dark: the poles are all the same length. The "
        "fly stands 3,000 mm of water, and two doors mean that nobody climbs over anybody. 2.3 kg with everything, "
        "packed as small as a sleeping bag.",
        description_zh="一个人、摸黑也能八分钟搭好：所有帐杆一样长。外帐防水 3000 毫米，双门设计，进出互不打扰。全套"
        " 2.3 公斤，收纳后只有睡袋大小。",
        variants=(DemoVariant("TENT-2", 69900, 20, 2300),),
        pictures=(DemoPicture("outdoors/two-person-tent.svg", "Yellow tent before mountains", "群山前的黄色帐篷"),),
    ),
    DemoProduct(
        slug="enamel-mug",
        category="camping",
        name="Enamel mug",
        name_zh="搪瓷杯",
        description="Steel under white enamel, with a blue rim as it has always been. Put it on the embers, drop it "
        "on the rocks: it gets a mark and a story. 400 ml.",
        description_zh="钢胎白瓷，蓝色杯沿，还是老样子。可以直接放在炭火边，摔一下不过多一道印子、一段故事。容量"
        " 400 毫升。",
        variants=(DemoVariant("MUG-400", 3900, 200, 210),),
        pictures=(DemoPicture("outdoors/enamel-mug.svg", "White mug with two pines", "印有松树的白色搪瓷杯"),),
    ),
    DemoProduct(
        slug="camping-lantern",
        category="camping",
        name="Camping lantern",
        name_zh="露营灯",
        description="Warm light for a table of six or, turned down, for a tent. It runs eleven hours at half power "
        "and charges your phone if need be. The handle folds into a hook.",
        description_zh="暖光照亮六人餐桌，调暗即是帐内夜灯。半亮度续航十一小时，必要时可为手机充电。提手可折成挂钩。",
        options=(colours(("Indigo", "靛蓝"), ("Cream", "米白")),),
        variants=(
            DemoVariant("LANTERN-INDIGO", 19900, 55, 480, ("Indigo",)),
            DemoVariant("LANTERN-CREAM", 19900, 45, 480, ("Cream",)),
        ),
        pictures=(DemoPicture("outdoors/camping-lantern.svg", "Blue lantern that glows", "发着暖光的蓝色露营灯"),),
    ),
)
