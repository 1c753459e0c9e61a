"""Where a parcel can be followed: the pages of carriers that are known here. Any other carrier is shown as text."""

from urllib.parse import quote

# By a word of the carrier's name, in small letters; the first that is found counts. {} is the tracking number.
TRACKING_PAGES = (
    (("顺丰", "sf express", "sf-express", "shunfeng"), "https://www.sf-express.com/chn/sc/waybill/waybill-detail/{}"),
    (("中通", "zto"), "https://www.zto.com/express/expressCheck.html?txtBill={}"),
    (("圆通", "yto"), "https://www.yto.net.cn/query/orderTracking.html?mailNo={}"),
    (("京东", "jd logistics", "jd express"), "https://www.jdl.com/orderSearch?waybillCodes={}"),
    (("ems", "china post", "中国邮政"), "https://www.ems.com.cn/queryList?mailNum={}"),
    (("dhl",), "https://www.dhl.com/global-en/home/tracking.html?tracking-id={}"),
    (("ups",), "https://www.ups.com/track?tracknum={}"),
    (("fedex",), "https://www.fedex.com/fedextrack/?trknbr={}"),
    (("usps",), "https://tools.usps.com/go/TrackConfirmAction?tLabels={}"),
    (("royal mail",), "https://www.royalmail.com/track-your-item#/tracking-results/{}"),
    (("dpd",), "https://tracking.dpd.de/status/en_US/parcel/{}"),
)


def tracking_url(*, carrier: str, tracking_number: str) -> str:
    """The carrier's page about the parcel; empty if the carrier is not known, or there is no number."""
    name = carrier.casefold()
    words = "".join(character if character.isalnum() else " " for character in name).split()
    for names, page in TRACKING_PAGES:
        # A short name such as "ups" only as a word of its own.
        if tracking_number and any(it in words or (it in name and (len(it) > 3 or not it.isascii())) for it in names):
            return page.format(quote(tracking_number, safe=""))
    return ""
