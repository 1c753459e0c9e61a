"""Tea and what it is made in."""

from shop.demo.goods import DemoOption, DemoPicture, DemoProduct, DemoValue, DemoVariant

PRODUCTS = (
    DemoProduct(
        slug="longjing-tea",
        category="loose-tea",
        name="Longjing tea, first harvest",
        name_zh="明前龙井",
        description="Green tea from the hills around West Lake, picked before the Qingming festival in early April "
        "and pan-fired by hand. The flat leaves smell of chestnut and taste sweet, with hardly any bitterness. Brew "
        "it in a tall glass at 80 °C and watch the leaves sink; they are good for three infusions. Keep the tin cool "
        "and closed.",
        description_zh="产自西湖周边山场，清明前采摘，手工辉锅。茶叶扁平光滑，栗香清幽，入口鲜甜，几乎没有苦涩。建议"
        "用高玻璃杯、80℃ 水冲泡，可续水三次。请密封后置于阴凉处保存。",
        options=(DemoOption("Weight", "净重", (DemoValue("100 g", "100 克"), DemoValue("250 g", "250 克"))),),
        variants=(
            DemoVariant("LONGJING-100", 16800, 80, 160, ("100 g",)),
            DemoVariant("LONGJING-250", 38800, 30, 340, ("250 g",)),
        ),
        pictures=(
            DemoPicture("tea/longjing-tea.svg", "Green tin with a leaf on its label", "印有茶叶图案的绿色茶叶罐"),
            DemoPicture(
                "tea/longjing-tea-2.svg", "Tea leaves standing in a glass of green tea", "玻璃杯中舒展的龙井茶"
            ),
        ),
    ),
    DemoProduct(
        slug="puer-cake",
        category="loose-tea",
        name="Ripe pu'er tea cake",
        name_zh="熟普洱茶饼",
        description="A pressed cake of ripe pu'er from Menghai, three years in the warehouse and ready to drink. The "
        "tea is dark, smooth and a little earthy, and forgives a long infusion. Break off seven or eight grams with a "
        "tea needle, rinse once with boiling water, and brew it ten times. 357 g, wrapped in cotton paper.",
        description_zh="勐海熟普，干仓存放三年，开箱即饮。汤色红浓，口感醇厚顺滑，久泡不涩。用茶针撬下 7～8 克，沸水"
        "洗茶一次，可泡十道以上。净重 357 克，棉纸包装。",
        variants=(DemoVariant("PUER-357", 19900, 60, 420),),
        pictures=(DemoPicture("tea/puer-cake.svg", "Round dark tea cake beside its wrapper", "圆形茶饼与棉纸包装"),),
    ),
    DemoProduct(
        slug="jasmine-pearls",
        category="loose-tea",
        name="Jasmine pearls",
        name_zh="茉莉龙珠",
        description="Young green tea rolled into pearls and laid in fresh jasmine blossoms on six nights, until it "
        "has taken on their scent. Ten pearls are enough for a pot. They open slowly and stay fragrant to the last "
        "cup.",
        description_zh="嫩芽绿茶手工揉捻成珠，与鲜茉莉花窨制六次，花香入骨。一壶只需十粒，茶珠缓缓舒展，最后一杯依旧"
        "芬芳。",
        options=(DemoOption("Weight", "净重", (DemoValue("75 g", "75 克"), DemoValue("150 g", "150 克"))),),
        variants=(
            DemoVariant("JASMINE-75", 8800, 70, 130, ("75 g",)),
            DemoVariant("JASMINE-150", 15800, 40, 230, ("150 g",)),
        ),
        pictures=(
            DemoPicture("tea/jasmine-pearls.svg", "Bowl of tea pearls with jasmine blossoms", "一碗茉莉龙珠与茉莉花"),
        ),
    ),
    DemoProduct(
        slug="gaiwan",
        category="teaware",
        name="Porcelain gaiwan",
        name_zh="白瓷盖碗",
        description="Lid, bowl and saucer of thin white porcelain from Jingdezhen, painted with a single blue sprig. "
        "It holds 150 ml, enough for three small cups. The flared rim stays cool, so you can pour without burning "
        "your fingers. Porcelain takes on no taste: one gaiwan serves every tea you own.",
        description_zh="景德镇薄胎白瓷，盖、碗、托三件一套，手绘青花小枝。容量 150 毫升，正好分三小杯。碗口外撇，出"
        "汤不烫手。瓷器不吸味，一只盖碗可以泡各种茶。",
        variants=(DemoVariant("GAIWAN-150", 12900, 120, 420),),
        pictures=(
            DemoPicture("tea/gaiwan.svg", "White lidded tea bowl with blue lines on a saucer", "青花白瓷盖碗与茶托"),
            DemoPicture("tea/gaiwan-2.svg", "The open bowl with tea, seen from above", "俯视：盛有茶汤的盖碗"),
        ),
    ),
    DemoProduct(
        slug="yixing-teapot",
        category="teaware",
        name="Yixing clay teapot",
        name_zh="宜兴紫砂壶",
        description="A small round pot of unglazed Yixing clay, made by hand from slabs. The clay keeps the heat and, "
        "over the years, the taste of the tea you brew in it, so choose one kind and stay with it. 180 ml; the lid "
        "fits so well that it stops the flow when you close its hole.",
        description_zh="宜兴原矿紫砂，全手工拍打成型，不上釉。砂壶聚热养茶，建议一壶一茶，越用越润。容量 180 毫升，"
        "壶盖严密，按住气孔即可断水。",
        variants=(DemoVariant("YIXING-180", 45900, 25, 450),),
        pictures=(DemoPicture("tea/yixing-teapot.svg", "Round reddish-brown clay teapot", "朱红色圆形紫砂壶"),),
    ),
    DemoProduct(
        slug="tasting-cups",
        category="teaware",
        name="Tasting cups, set of three",
        name_zh="品茗杯三只装",
        description="Three cups of 60 ml in white, celadon and indigo, thrown on the same wheel and glazed inside in "
        "white, so that you see the colour of the tea. They stack in the cupboard and survive the dishwasher. The "
        "bamboo tray in the picture is part of the set.",
        description_zh="月白、青瓷、靛蓝三色各一只，每只 60 毫升，内壁施白釉，便于观赏汤色。可叠放收纳，可放入洗碗机。"
        "图中竹托盘包含在套装内。",
        variants=(DemoVariant("CUPS-3", 9900, 90, 780),),
        pictures=(
            DemoPicture("tea/tasting-cups.svg", "Three small cups of tea on a bamboo tray", "竹托盘上的三只品茗杯"),
        ),
    ),
)
