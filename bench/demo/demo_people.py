"""People of demo orders. They cannot sign in, and example.com delivers no mail."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User

from bench.demo.long_lists import number_after, pairs

BATCH_SIZE = 2_000
USERNAME_START = "demo-"
GIVEN_NAMES = pairs(
    "Wei:伟 Fang:芳 Na:娜 Min:敏 Jing:静 Li:丽 Qiang:强 Lei:磊 Jun:军 Yan:艳 Yong:勇 Jie:杰 Juan:娟 Tao:涛 Ming:明 "
    "Chao:超 Xia:霞 Ping:平 Gang:刚 Hui:慧"
)
FAMILY_NAMES = pairs(
    "Wang:王 Li:李 Zhang:张 Liu:刘 Chen:陈 Yang:杨 Huang:黄 Zhao:赵 Wu:吴 Zhou:周 Xu:徐 Sun:孙 Ma:马 Zhu:朱 Hu:胡 "
    "Guo:郭 He:何 Lin:林 Gao:高 Luo:罗"
)
# Province, city, the beginning of its postcodes.
CHINESE_CITIES = (
    ("浙江省", "杭州市", "3100"),
    ("上海市", "上海市", "2000"),
    ("北京市", "北京市", "1000"),
    ("广东省", "深圳市", "5180"),
    ("四川省", "成都市", "6100"),
    ("江苏省", "南京市", "2100"),
    ("湖北省", "武汉市", "4300"),
    ("陕西省", "西安市", "7100"),
)
CHINESE_STREETS = ("文一西路", "南京东路", "建国路", "科技园路", "天府大道", "中山北路", "解放大道", "长安南路")
# Country, region, city, and its postcodes with two digits by chance.
OTHER_CITIES = (
    ("DE", "", "Berlin", "101{:02}"),
    ("GB", "", "Leeds", "LS{} 4DY"),
    ("SG", "", "Singapore", "1895{:02}"),
    ("US", "MA", "Boston", "021{:02}"),
)
OTHER_STREETS = ("Station Road", "Market Street", "Garden Lane", "Hill Street", "Bridge Street", "Park Avenue")


@dataclass(frozen=True, slots=True)
class DemoPerson:
    """Somebody who orders. `pk` is None for a guest."""

    pk: int | None
    name: str
    email: str
    language: str
    address: dict[str, str]


def load_people(count: int, *, now: datetime) -> list[User]:
    """Bring the number of demo people to `count`, and return them in the order in which they came."""
    # A person who signed up with such a name has a password.
    people = User.objects.filter(username__startswith=USERNAME_START, password__startswith="!").order_by("pk")
    names = people.values_list("username", flat=True)
    start = number_after(names)
    stop = start + count - len(names)
    for first in range(start, stop, BATCH_SIZE):
        User.objects.bulk_create(user_of(number, now=now) for number in range(first, min(first + BATCH_SIZE, stop)))
    return list(people.only("pk", "first_name", "last_name", "email"))


def user_of(number: int, *, now: datetime) -> User:
    draw = random.Random(number)
    (given, given_zh), (family, family_zh) = draw.choice(GIVEN_NAMES), draw.choice(FAMILY_NAMES)
    is_chinese = draw.random() < 0.7
    return User(
        username=f"{USERNAME_START}{given}-{family}-{number}".lower(),
        email=mail_address(given, family, number),
        first_name=given_zh if is_chinese else given,
        last_name=family_zh if is_chinese else family,
        password=make_password(None),
        date_joined=now - timedelta(days=200 + draw.randrange(400)),
    )


def person_of(user: User, draw: random.Random) -> DemoPerson:
    is_chinese = not user.last_name.isascii()
    name = f"{user.last_name}{user.first_name}" if is_chinese else f"{user.first_name} {user.last_name}"
    return DemoPerson(user.pk, name, user.email, language_of(is_chinese), address_of(name, is_chinese, draw))


def guest(number: int, draw: random.Random) -> DemoPerson:
    (given, given_zh), (family, family_zh) = draw.choice(GIVEN_NAMES), draw.choice(FAMILY_NAMES)
    is_chinese = draw.random() < 0.7
    name = f"{family_zh}{given_zh}" if is_chinese else f"{given} {family}"
    email = mail_address(given, family, f"guest{number}")
    return DemoPerson(None, name, email, language_of(is_chinese), address_of(name, is_chinese, draw))


def mail_address(given: str, family: str, number: object) -> str:
    return f"{given}.{family}.{number}@example.com".lower()


def language_of(is_chinese: bool) -> str:
    return "zh-hans" if is_chinese else "en"


def address_of(name: str, is_chinese: bool, draw: random.Random) -> dict[str, str]:
    """The columns of a ShippingAddress."""
    house = draw.randrange(1, 400)
    if is_chinese:
        region, city, postcode = draw.choice(CHINESE_CITIES)
        line1 = f"{draw.choice(CHINESE_STREETS)}{house}号"
        phone = f"138{draw.randrange(10**8):08}"
        place = {"region": region, "city": city, "postcode": f"{postcode}{draw.randrange(100):02}", "country": "CN"}
    else:
        country, region, city, postcode = draw.choice(OTHER_CITIES)
        line1, phone = f"{house} {draw.choice(OTHER_STREETS)}", ""
        postcode = postcode.format(draw.randrange(1, 30))
        place = {"region": region, "city": city, "postcode": postcode, "country": country}
    return {"name": name, "line1": line1, "line2": "", "phone": phone, **place}
