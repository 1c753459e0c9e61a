"""Pots, knives and boards."""

from shop.demo.goods import DemoPicture, DemoProduct, DemoVariant, colours, sizes

PRODUCTS = (
    DemoProduct(
        slug="cast-iron-wok",
        category="cookware",
        name="Cast-iron wok",
        name_zh="铸铁炒锅",
        description="A wok that gets truly hot: thin cast iron with a flat spot below, so that it also works on "
        "induction. It comes seasoned with flaxseed oil and ready for the first stir-fry. The beech handle stays "
        "cool, and the second handle helps with a full load. Rinse it with hot water, dry it, and it lasts for "
        "decades.",
        description_zh="薄壁铸铁，升温快、锅气足；平底设计，电磁炉也能用。出厂已用亚麻籽油开锅，到手即可爆炒。榉木手"
        "柄不烫手，另有副耳方便端锅。用后热水冲净擦干，可用几十年。",
        options=(sizes(("32 cm", "32 厘米"), ("36 cm", "36 厘米")),),
        variants=(
            DemoVariant("WOK-32", 29900, 60, 1900, ("32 cm",)),
            DemoVariant("WOK-36", 35900, 35, 2400, ("36 cm",)),
        ),
        pictures=(
            DemoPicture("kitchen/cast-iron-wok.svg", "Black wok with vegetables and steam", "冒着热气的铸铁炒锅"),
            DemoPicture("kitchen/cast-iron-wok-2.svg", "The empty wok, seen from above", "俯视：空的炒锅"),
        ),
    ),
    DemoProduct(
        slug="bamboo-steamer",
        category="cookware",
        name="Bamboo steamer, two tiers",
        name_zh="双层竹蒸笼",
        description="Two baskets and a woven lid of moso bamboo, bound with bamboo and without glue. The lid lets the "
        "steam out, so nothing drips on your buns. Set it on a wok or pot of the same width. Let it dry in the air.",
        description_zh="毛竹手工编制，双层带盖，竹篾捆扎，不用胶水。笼盖透气，不会滴水到包子上。架在同口径的炒锅或汤"
        "锅上即可使用，用后请自然晾干。",
        options=(sizes(("21 cm", "21 厘米"), ("26 cm", "26 厘米")),),
        variants=(
            DemoVariant("STEAMER-21", 7900, 80, 650, ("21 cm",)),
            DemoVariant("STEAMER-26", 9900, 55, 900, ("26 cm",)),
        ),
        pictures=(DemoPicture("kitchen/bamboo-steamer.svg", "Closed bamboo steamer with two tiers", "双层竹蒸笼"),),
    ),
    DemoProduct(
        slug="enamel-casserole",
        category="cookware",
        name="Enamelled casserole, 4.2 litres",
        name_zh="珐琅铸铁锅 4.2 升",
        description="Cast iron under three layers of enamel, for braises that take an afternoon and bread that needs "
        "a hot oven. The light inside shows when onions begin to brown. Ridges under the lid return the steam to the "
        "food. Suits every stove and the oven up to 250 °C; serves four to six.",
        description_zh="铸铁锅身，三层珐琅，慢炖、烤面包都合适。浅色内壁便于观察食材变化，锅盖内侧凸点让水汽均匀回落。"
        "适用各种炉灶，可入 250℃ 烤箱，供四至六人使用。",
        options=(colours(("Vermilion", "朱红"), ("Petrol", "孔雀蓝")),),
        variants=(
            DemoVariant("CASSEROLE-RED", 49900, 40, 5200, ("Vermilion",)),
            DemoVariant("CASSEROLE-BLUE", 49900, 30, 5200, ("Petrol",)),
        ),
        pictures=(
            DemoPicture("kitchen/enamel-casserole.svg", "Closed red casserole", "朱红色珐琅锅"),
            DemoPicture("kitchen/enamel-casserole-2.svg", "Open blue casserole with soup", "盛着汤的孔雀蓝珐琅锅"),
        ),
    ),
    DemoProduct(
        slug="chef-knife",
        category="knives-and-boards",
        name="Chef's knife",
        name_zh="主厨刀",
        description="Forged from one piece of steel, from the tip to the end of the handle, and ground thin enough "
        "for a tomato. The blade is 20 cm long, hardened to 58 HRC and easy to sharpen at home. The walnut handle is "
        "riveted three times. Wash it by hand.",
        description_zh="整块钢一体锻造，从刀尖直达柄尾，刀刃薄而锋利，切番茄毫不费力。刃长 20 厘米，硬度 58 HRC，在"
        "家也容易磨。胡桃木柄，三颗铆钉固定。请手洗。",
        variants=(DemoVariant("KNIFE-20", 39900, 45, 380),),
        pictures=(DemoPicture("kitchen/chef-knife.svg", "Chef's knife with a walnut handle", "胡桃木柄主厨刀"),),
    ),
    DemoProduct(
        slug="end-grain-board",
        category="knives-and-boards",
        name="End-grain cutting board",
        name_zh="立木拼花砧板",
        description="Blocks of maple and walnut with the grain upright: the knife goes between the fibres, so it "
        "stays sharp and the cuts close again. 40 × 30 cm, 4 cm thick, with a grip on the edge. Oil it now and then, "
        "and keep it out of the dishwasher.",
        description_zh="枫木与胡桃木立木拼接，刀刃落在木纤维之间，不伤刀，刀痕也会慢慢合拢。40 × 30 厘米，厚 4 厘米，"
        "侧边带提手槽。请定期上油，勿放入洗碗机。",
        variants=(DemoVariant("BOARD-40", 25900, 50, 3100),),
        pictures=(
            DemoPicture(
                "kitchen/end-grain-board.svg", "Chequered board with tomato and basil", "放着番茄和罗勒的拼花砧板"
            ),
        ),
    ),
)
