"""For the desk: keyboards and lamps, sound, stationery."""

from shop.demo.goods import DemoOption, DemoPicture, DemoProduct, DemoValue, DemoVariant, colours

PRODUCTS = (
    DemoProduct(
        slug="mechanical-keyboard",
        category="keyboards-and-lamps",
        name="Mechanical keyboard",
        name_zh="机械键盘",
        description="75 keys in an aluminium case, small enough to leave room for the mouse. The keycaps are thick "
        "PBT that does not get shiny, and every switch can be changed without soldering. It connects by cable or to "
        "three devices by Bluetooth. Two cables are in the box: a straight one and a coiled one.",
        description_zh="75 键紧凑布局，铝合金外壳，给鼠标留足空间。加厚 PBT 键帽不打油，轴体支持热插拔。可有线连接，"
        "也可蓝牙连接三台设备。附直线与弹簧线各一条。",
        options=(DemoOption("Switches", "轴体", (DemoValue("Quiet", "静音轴"), DemoValue("Tactile", "段落轴"))),),
        variants=(
            DemoVariant("KEYBOARD-QUIET", 59900, 70, 1150, ("Quiet",)),
            DemoVariant("KEYBOARD-TACTILE", 59900, 40, 1150, ("Tactile",)),
        ),
        pictures=(
            DemoPicture(
                "desk/mechanical-keyboard.svg",
                "Blue keyboard with light, red and yellow keys",
                "蓝色机身、彩色键帽的机械键盘",
            ),
            DemoPicture("desk/mechanical-keyboard-2.svg", "Three keycaps seen from close by", "键帽特写"),
        ),
    ),
    DemoProduct(
        slug="desk-lamp",
        category="keyboards-and-lamps",
        name="Desk lamp",
        name_zh="护眼台灯",
        description="A lamp that lights the whole desk and not your eyes. Turn the ring from warm to cool light, "
        "touch it to dim; it does not flicker at any level. The arm stays where you put it. Colours look right under "
        "it (Ra 97), which your drawings will like.",
        description_zh="照亮整张桌面，却不刺眼。旋转圆环调节色温，轻触调光，任何亮度均无频闪。灯臂悬停，指哪儿停哪儿。"
        "显色指数 Ra 97，看书、画画颜色都准。",
        variants=(DemoVariant("LAMP-1", 24900, 90, 1700),),
        pictures=(DemoPicture("desk/desk-lamp.svg", "Green desk lamp that lights two books", "照着书本的绿色台灯"),),
    ),
    DemoProduct(
        slug="headphones",
        category="sound",
        name="Noise-cancelling headphones",
        name_zh="降噪耳机",
        description="Put them on, and the train is gone. Six microphones listen to the noise and cancel it; press the "
        "left shell to hear an announcement. Forty hours on one charge, five more after ten minutes at the socket. "
        "They fold flat into the case in the picture, and the ear pads can be replaced.",
        description_zh="戴上它，地铁的噪音就消失了。六颗麦克风主动降噪，按住左耳罩即可听清广播。一次充电可用四十小时，"
        "快充十分钟再听五小时。可折叠收纳，附便携盒，耳罩可更换。",
        options=(colours(("Charcoal", "炭黑"), ("Sand", "沙色")),),
        variants=(
            DemoVariant("HEADPHONES-CHARCOAL", 89900, 60, 620, ("Charcoal",)),
            DemoVariant("HEADPHONES-SAND", 89900, 40, 620, ("Sand",)),
        ),
        pictures=(
            DemoPicture("desk/headphones.svg", "Black headphones with tan ear pads", "黑色头戴耳机，棕色耳罩"),
            DemoPicture("desk/headphones-2.svg", "The headphones folded into their case", "收纳在便携盒中的耳机"),
        ),
    ),
    DemoProduct(
        slug="portable-speaker",
        category="sound",
        name="Portable speaker",
        name_zh="便携音箱",
        description="A speaker the size of a lunch box with a wooden case and two real knobs, for volume and tone. It "
        "plays for eighteen hours and minds neither rain nor sand (IP55). Two of them find each other and play in "
        "stereo.",
        description_zh="饭盒大小，木质箱体，音量、音调各有一个真正的旋钮。续航十八小时，IP55 防尘防水，雨天沙滩都不"
        "怕。两台可自动配对，组成立体声。",
        variants=(DemoVariant("SPEAKER-1", 49900, 35, 1300),),
        pictures=(DemoPicture("desk/portable-speaker.svg", "Red speaker with a leather strap", "带皮提手的红色音箱"),),
    ),
    DemoProduct(
        slug="notebook",
        category="stationery",
        name="Cloth-bound notebook",
        name_zh="布面笔记本",
        description="192 pages of 100 g paper that takes fountain pen ink without showing it on the other side. "
        "Thread stitching lets it lie flat. With a page for the table of contents, numbered pages and a pocket for "
        "what you pick up on the way.",
        description_zh="192 页，100 克纸，钢笔书写不洇不透。锁线装订，可完全平摊。带目录页、页码和内袋，随手收好票根"
        "与便签。",
        options=(DemoOption("Pages", "内页", (DemoValue("Dotted", "点阵"), DemoValue("Ruled", "横线"))),),
        variants=(
            DemoVariant("NOTEBOOK-DOTTED", 5900, 150, 380, ("Dotted",)),
            DemoVariant("NOTEBOOK-RULED", 5900, 120, 380, ("Ruled",)),
        ),
        pictures=(DemoPicture("desk/notebook.svg", "Blue notebook with a yellow band", "系着黄色束带的蓝色笔记本"),),
    ),
    DemoProduct(
        slug="fountain-pen",
        category="stationery",
        name="Fountain pen",
        name_zh="钢笔",
        description="A light pen of green resin for long letters. The steel nib starts at once, even after a week in "
        "the drawer. It takes standard cartridges or ink from the bottle: a converter is in the box.",
        description_zh="绿色树脂笔身，轻巧，适合长时间书写。钢制笔尖出水顺畅，放一周也能一写就来。可用标准墨囊，也可"
        "吸墨，附上墨器。",
        options=(DemoOption("Nib", "笔尖", (DemoValue("Fine", "F 尖"), DemoValue("Medium", "M 尖"))),),
        variants=(
            DemoVariant("PEN-FINE", 15900, 50, 120, ("Fine",)),
            DemoVariant("PEN-MEDIUM", 15900, 45, 120, ("Medium",)),
        ),
        pictures=(DemoPicture("desk/fountain-pen.svg", "Green fountain pen beside its cap", "绿色钢笔与笔帽"),),
    ),
)
