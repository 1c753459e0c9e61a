# The calls of the API in the order of a purchase, as /api/docs/ shows them: for a shell with curl. A line with ## names
# the call: method, address, its name in clients that are generated from the OpenAPI file, and a short name.

API=http://127.0.0.1:8000/api/v1
JSON='Content-Type: application/json'
field() { python3 -c "import json, sys; print(json.load(sys.stdin)$1)"; }

### Sign in

## POST /api/v1/auth/token/ get_token: Get a token
TOKEN=$(curl -s $API/auth/token/ -H "$JSON" \
  -d "{\"username\": \"$BUYER\", \"password\": \"$PASSWORD\"}" | field "['token']")

## GET /api/v1/me/ get_me: Who is signed in
curl -s $API/me/ -H "Authorization: Bearer $TOKEN"

### Catalogue

## GET /api/v1/products/ list_products: List or search products
PRODUCT=$(curl -s "$API/products/?search=tea&ordering=price" | field "[0]['slug']")

## GET /api/v1/products/{slug}/ get_product: A product
curl -s $API/products/$PRODUCT/

## GET /api/v1/categories/ list_categories: List the categories
curl -s $API/categories/

### Sales

## GET /api/v1/sales/ list_sales: List the sales
SALE=$(curl -s "$API/sales/?phase=open" | field "[0]['id']")

## GET /api/v1/sales/{id}/ get_sale: A sale with its items
ITEM=$(curl -s $API/sales/$SALE/ | field "['items'][0]['id']")

## GET /api/v1/sales/{sale_id}/live/ get_sale_live: Live figures of a sale
curl -s $API/sales/$SALE/live/

## GET /api/v1/sale-items/{item_id}/live/ get_item_live: Live figures of an item
curl -s $API/sale-items/$ITEM/live/

## POST /api/v1/reminders/ ask_for_reminder: A mail when a sale opens or something is back
# With “item” or “sku” instead of “sale”: when it is back. Without a token, the owner of the address is asked.
curl -s $API/reminders/ -H "$JSON" \
  -d "{\"item\": $ITEM, \"email\": \"li.lei@example.com\"}" | field "['status']"

## DELETE /api/v1/reminders/ delete_reminder: Want such a mail no more
curl -s -X DELETE "$API/reminders/?item=$ITEM" -H "Authorization: Bearer $TOKEN"

### Waiting room

## POST /api/v1/sales/{sale_id}/queue/ join_queue: Join the waiting room of a sale
# For a sale with a waiting room (“admission” is “waiting_room”): the last open one of the list must be such a sale.
ROOM=$(curl -s "$API/sales/?phase=open" | field "[-1]['id']")
PLACE=$(curl -sf --retry 3 -X POST $API/sales/$ROOM/queue/ -H "Authorization: Bearer $TOKEN" \
  | field "['place_token']")

## GET /api/v1/sales/{sale_id}/queue/ get_place: The place in the waiting room
# Other states are final: “lapsed” (join again), “sold_out” and “closed”. A refusal has none.
STATE=waiting
while [ "$STATE" = waiting ] || [ "$STATE" = before_opening ]; do
  STATE=$(curl -s $API/sales/$ROOM/queue/ -H "Authorization: Place $PLACE" | field ".get('state')"); sleep 0.5
done
echo "Place in the waiting room: $STATE"

### Draw

## POST /api/v1/sale-items/{item_id}/entries/ enter_draw: Enter a draw
# For a sale with a draw (“admission” is “draw”): the last one of the list that is not open yet must be such a sale.
DRAW=$(curl -s "$API/sales/?phase=upcoming" | field "[-1]['id']")
DRAWN=$(curl -s $API/sales/$DRAW/ | field "['items'][0]['id']")
curl -s -X POST $API/sale-items/$DRAWN/entries/ -H "Authorization: Bearer $TOKEN" -H "$JSON" \
  -d '{"units": 1}'

## GET /api/v1/sale-items/{item_id}/entries/ get_entry: Your entry in a draw
curl -s $API/sale-items/$DRAWN/entries/ -H "Authorization: Bearer $TOKEN" | field "['status']"

## DELETE /api/v1/sale-items/{item_id}/entries/ withdraw_entry: Withdraw from a draw
curl -s -X DELETE $API/sale-items/$DRAWN/entries/ -H "Authorization: Bearer $TOKEN"

## GET /api/v1/sales/{sale_id}/draw/ get_draw: What is published of a draw
curl -s $API/sales/$DRAW/draw/ | field "['seed_sha256']"

## GET /api/v1/sales/{sale_id}/draw/file/ get_draw_file: A whole draw, to recompute it
curl -s -o draw.json $API/sales/$DRAW/draw/file/

### Reserve

## POST /api/v1/sale-items/{item_id}/challenges/ get_challenge: Get a challenge, in a sale with proof of work
# In any other sale the answer is not_found. The guide for clients has a program that solves it.
curl -s -X POST $API/sale-items/$ITEM/challenges/ -H "Authorization: Bearer $TOKEN" | field "['code']"

## POST /api/v1/sale-items/{item_id}/passes/ get_pass: Get a pass
PASS=$(curl -s -X POST $API/sale-items/$ITEM/passes/ -H "Authorization: Bearer $TOKEN" \
  | field "['pass']")

## POST /api/v1/sale-items/{item_id}/reservations/ reserve: Reserve units
YES=$(curl -s $API/sale-items/$ITEM/reservations/ -H "Authorization: Pass $PASS" \
  -H "$JSON" -d '{"units": 1}')
RESERVATION=$(echo "$YES" | field "['id']")
RECEIPT=$(echo "$YES" | field "['receipt']")

## POST /api/v1/sale-items/{item_id}/waiting-list/ join_line: Join the waiting list
curl -s $API/sale-items/$ITEM/waiting-list/ -H "Authorization: Pass $PASS" \
  -H "$JSON" -d '{"units": 1}'

## GET /api/v1/reservations/{reservation_id}/ get_reservation: Status of a reservation
# Until it is an order. “rejected” is final, and so are refusals but 429 and 503: bring_receipt is for a 404.
STATUS=reserved
while echo "$STATUS" | grep -qxE 'reserved|waiting|429|503'; do
  ANSWER=$(curl -s $API/reservations/$RESERVATION/ -H "Authorization: Bearer $TOKEN" || echo '{"status": 503}')
  STATUS=$(echo "$ANSWER" | field "['status']"); sleep 0.5
done
ORDER=$(echo "$ANSWER" | field ".get('order')")
[ "$ORDER" != None ] || echo "There is no order: $ANSWER"

## DELETE /api/v1/reservations/{reservation_id}/ leave_line: Leave the waiting list
curl -s -X DELETE $API/reservations/$RESERVATION/ -H "Authorization: Bearer $TOKEN"

## POST /api/v1/receipts/ bring_receipt: Bring back a lost reservation
# For a reservation whose status is 404 though it was answered 201. Any other is not changed.
curl -s $API/receipts/ -H "Authorization: Bearer $TOKEN" -H "$JSON" \
  -d "{\"receipt\": \"$RECEIPT\"}" | field "['status']"

### Cart and checkout

## GET /api/v1/cart/ get_cart: The cart
curl -s $API/cart/ -H "Authorization: Bearer $TOKEN" | field "['units']"

## PUT /api/v1/cart/ change_cart: Change the cart
# Without a token of an account, the answer has the token of a guest's cart, for the header Cart-Token.
curl -s -X PUT $API/cart/ -H "Authorization: Bearer $TOKEN" -H "$JSON" \
  -d "{\"lines\": [{\"sku\": \"$SKU\", \"units\": 2}]}" | field "['total']"

## GET /api/v1/shipping-methods/ list_shipping_methods: Ways of sending
METHOD=$(curl -s "$API/shipping-methods/?country=CN" -H "Authorization: Bearer $TOKEN" \
  | field "[0]['code']")

## POST /api/v1/checkout/ check_out: Order what is in the cart
# A guest sends an e-mail address too, and pays at the page whose address is the order's “url”.
curl -s $API/checkout/ -H "Authorization: Bearer $TOKEN" -H "Idempotency-Key: checkout-1" -H "$JSON" \
  -d "{\"shipping_method\": \"$METHOD\", \"shipping_address\": {\"name\": \"Lin Wei\",
       \"line1\": \"1 Nanjing Road\", \"district\": \"Huangpu\", \"city\": \"Shanghai\",
       \"country\": \"CN\", \"phone\": \"+86 138 0013 8000\"}}" | field "['code']"

### Orders

## GET /api/v1/orders/ list_orders: List your orders
curl -s $API/orders/ -H "Authorization: Bearer $TOKEN"

## GET /api/v1/orders/{number}/ get_order: An order
curl -s $API/orders/$ORDER/ -H "Authorization: Bearer $TOKEN"

## PUT /api/v1/orders/{number}/shipping-address/ set_shipping_address: Say where the order goes
# And how: the ways of sending this order are asked for with “order”.
METHOD=$(curl -s "$API/shipping-methods/?country=CN&order=$ORDER" -H "Authorization: Bearer $TOKEN" \
  | field "[0]['code']")
curl -s -X PUT $API/orders/$ORDER/shipping-address/ -H "Authorization: Bearer $TOKEN" -H "$JSON" \
  -d '{"shipping_method": "'$METHOD'", "name": "王小明", "line1": "文三路478号", "district": "西湖区",
       "city": "杭州市", "region": "浙江省", "country": "CN", "phone": "13800138000"}' \
  | field "['shipping_address']"

## POST /api/v1/orders/{number}/pay/ pay_order: Pay an order
# The answer has the address of the payment page, where the buyer pays. After delivery_missing, say first how the
# order is sent; after price_changed, read it, and repeat the call with its amount as “expected_total”.
curl -s -X POST $API/orders/$ORDER/pay/ -H "Authorization: Bearer $TOKEN" \
  -H "Idempotency-Key: pay-$ORDER" | field "['url']"

## POST /api/v1/orders/{number}/cancel/ cancel_order: Cancel an order
# Instead of paying.
curl -s -X POST $API/orders/$ORDER/cancel/ -H "Authorization: Bearer $TOKEN" \
  -H "Idempotency-Key: cancel-$ORDER" | field "['status']"

### Sign out

## DELETE /api/v1/auth/token/ revoke_token: Revoke a token
curl -s -X DELETE $API/auth/token/ -H "Authorization: Bearer $TOKEN"

### For payment companies

## POST /api/v1/payments/{provider}/webhook/ receive_payment_event: Receive a payment's event
# Without a signature it is refused with signature_invalid.
curl -s $API/payments/simulated/webhook/ -H "$JSON" -d '{}' | field "['code']"
