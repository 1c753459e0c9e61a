"""Shirts and sweaters, scarves, caps and socks."""

from shop.demo.goods import DemoPicture, DemoProduct, DemoVariant, colours, sizes

PRODUCTS = (
    DemoProduct(
        slug="linen-shirt",
        category="tops",
        name="Linen shirt, short sleeves",
        name_zh="亚麻短袖衬衫",
        description="French flax, woven loosely and washed once, so that it is soft from the first day and dry by "
        "evening. Cut straight, with a chest pocket and buttons of corozo nut. It creases, as linen should. Wash at "
        "30 °C; true to size.",
        description_zh="法国亚麻，疏松织造并预洗，上身柔软、透气易干。直筒版型，带胸袋，果实纽扣。亚麻自带褶皱，正是"
        "它的味道。30℃ 水洗，尺码标准。",
        options=(colours(("Natural", "本白"), ("Blue", "雾蓝")), sizes(("S", "S"), ("M", "M"), ("L", "L"))),
        variants=(
            DemoVariant("SHIRT-NATURAL-S", 25900, 20, 260, ("Natural", "S")),
            DemoVariant("SHIRT-NATURAL-M", 25900, 35, 260, ("Natural", "M")),
            DemoVariant("SHIRT-NATURAL-L", 25900, 30, 260, ("Natural", "L")),
            DemoVariant("SHIRT-BLUE-S", 25900, 20, 260, ("Blue", "S")),
            DemoVariant("SHIRT-BLUE-M", 25900, 35, 260, ("Blue", "M")),
            # Sold out, so that the demo shop shows what that looks like.
            DemoVariant("SHIRT-BLUE-L", 25900, 0, 260, ("Blue", "L")),
        ),
        pictures=(
            DemoPicture("clothing/linen-shirt.svg", "White linen shirt", "本白色亚麻衬衫"),
            DemoPicture("clothing/linen-shirt-2.svg", "The same shirt in blue", "雾蓝色亚麻衬衫"),
        ),
    ),
    DemoProduct(
        slug="merino-sweater",
        category="tops",
        name="Merino sweater",
        name_zh="美利奴羊毛衫",
        description="Fine merino, knitted in one piece without seams at the side. Warm at zero degrees, not too warm "
        "on the train, and it does not scratch. The zigzag is knitted in, so it will not fade. Wash it in wool "
        "detergent and dry it flat.",
        description_zh="细支美利奴羊毛，侧面无缝一体编织。零度够暖，进地铁不闷，贴身不扎。折线花纹为织入，不会褪色。"
        "请用羊毛洗涤剂清洗，平铺晾干。",
        options=(sizes(("S", "S"), ("M", "M"), ("L", "L"), ("XL", "XL")),),
        variants=(
            DemoVariant("SWEATER-S", 45900, 20, 420, ("S",)),
            DemoVariant("SWEATER-M", 45900, 30, 420, ("M",)),
            DemoVariant("SWEATER-L", 45900, 30, 420, ("L",)),
            DemoVariant("SWEATER-XL", 45900, 15, 420, ("XL",)),
        ),
        pictures=(DemoPicture("clothing/merino-sweater.svg", "Green sweater with a zigzag", "带折线花纹的绿色毛衣"),),
    ),
    DemoProduct(
        slug="wool-scarf",
        category="accessories",
        name="Wool scarf",
        name_zh="羊毛围巾",
        description="Long enough to go round twice, 190 × 32 cm, and light enough to keep on indoors. Striped at both "
        "ends, with a fringe twisted by hand. Half lambswool, half cashmere.",
        description_zh="190 × 32 厘米，可绕两圈；轻薄柔软，室内也不必摘下。两端条纹，手工捻穗。羔羊毛与羊绒各半。",
        options=(colours(("Brick", "砖红"), ("Pine", "松绿")),),
        variants=(
            DemoVariant("SCARF-BRICK", 22900, 50, 240, ("Brick",)),
            DemoVariant("SCARF-PINE", 22900, 50, 240, ("Pine",)),
        ),
        pictures=(DemoPicture("clothing/wool-scarf.svg", "Knotted red scarf with stripes", "系好的砖红色条纹围巾"),),
    ),
    DemoProduct(
        slug="canvas-cap",
        category="accessories",
        name="Canvas cap",
        name_zh="帆布棒球帽",
        description="Six panels of washed cotton canvas and a brim that you can bend into shape. The brass buckle at "
        "the back fits heads from 55 to 61 cm. Rinse it in cold water.",
        description_zh="水洗棉帆布，六片拼接，帽檐可随意弯折。后部黄铜扣调节，适合头围 55～61 厘米。冷水轻柔手洗。",
        options=(colours(("Indigo", "靛蓝"), ("Olive", "橄榄绿")),),
        variants=(
            DemoVariant("CAP-INDIGO", 9900, 70, 130, ("Indigo",)),
            DemoVariant("CAP-OLIVE", 9900, 60, 130, ("Olive",)),
        ),
        pictures=(DemoPicture("clothing/canvas-cap.svg", "Blue cap with a yellow band", "蓝色帽身、黄色帽围的棒球帽"),),
    ),
    DemoProduct(
        slug="cotton-socks",
        category="accessories",
        name="Cotton socks, two pairs",
        name_zh="纯棉袜两双装",
        description="Combed cotton with a terry sole and a toe closed by hand, so nothing rubs. They stay up without "
        "squeezing. Heel and toe are reinforced, where socks give up first.",
        description_zh="精梳棉，毛圈袜底，手工对目缝头，不磨脚。袜口不勒也不滑。最易磨破的脚跟、脚尖都已加固。",
        options=(sizes(("36–39", "36–39 码"), ("40–43", "40–43 码")),),
        variants=(
            DemoVariant("SOCKS-36", 4900, 120, 110, ("36–39",)),
            DemoVariant("SOCKS-40", 4900, 140, 110, ("40–43",)),
        ),
        pictures=(
            DemoPicture("clothing/cotton-socks.svg", "Pair of yellow socks with green stripes", "黄底绿条纹袜子"),
        ),
    ),
)
