"""An address for orders of tests."""

ADDRESS = {
    "name": "Wang Xiaoming",
    "line1": "Wensan Road 478",
    "city": "Hangzhou",
    "postcode": "310012",
    "country": "CN",
}
