"""As in English."""

DATE_FORMAT = SHORT_DATE_FORMAT = "Y-m-d"
TIME_FORMAT = "H:i:s"
DATETIME_FORMAT = SHORT_DATETIME_FORMAT = "Y-m-d H:i:s"
# The first of each is shown in a field. Django's own would drop the seconds of a time that is saved again.
DATE_INPUT_FORMATS = ["%Y-%m-%d", "%Y/%m/%d", "%Y年%m月%d日"]
TIME_INPUT_FORMATS = ["%H:%M:%S", "%H:%M"]
