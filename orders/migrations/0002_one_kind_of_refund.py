"""Every refund is a row: also those of payments that an order did not take, and of the release before."""

from django.db import migrations, models

ROWS = """
-- The captured amount goes back; it may differ from the amount that the shop asked for.
UPDATE orders_payment payment SET amount_minor = event.amount_minor, currency = event.currency
  FROM (SELECT DISTINCT ON (provider, payment_id) provider, payment_id, amount_minor, currency
          FROM orders_paymentevent
         WHERE kind = 'captured' AND applied_at IS NOT NULL
         ORDER BY provider, payment_id, id) event
 WHERE event.payment_id = payment.id AND event.provider = payment.provider
   AND payment.status IN ('refund_due', 'refunded')
   AND (payment.amount_minor, payment.currency) <> (event.amount_minor, event.currency);

-- Refunds of a whole payment are asked for by their rows from now on.
UPDATE orders_refund refund
   SET attempts = payment.attempts, next_attempt_at = COALESCE(payment.next_attempt_at, now()),
       last_error = payment.last_error
  FROM orders_payment payment
 WHERE payment.id = refund.payment_id AND refund.is_whole AND refund.status = 'due';

WITH payments AS (
    SELECT payment.*, payment.amount_minor - COALESCE(
             (SELECT sum(refund.amount_minor) FROM orders_refund refund
               WHERE refund.payment_id = payment.id AND refund.status <> 'failed'), 0) AS rest_minor,
           (SELECT max(event.applied_at) FROM orders_paymentevent event
             WHERE event.payment_id = payment.id AND event.kind = 'refunded') AS refunded_at
      FROM orders_payment payment
     WHERE payment.status IN ('refund_due', 'refunded')
)
INSERT INTO orders_refund (id, order_id, payment_id, amount_minor, status, is_whole, is_surplus, reason,
                           provider_reference, created_at, ended_at, attempts, next_attempt_at, last_error)
SELECT gen_random_uuid(), order_id, id, rest_minor,
       CASE status WHEN 'refund_due' THEN 'due' ELSE 'refunded' END,
       false, true, '', '', COALESCE(captured_at, created_at),
       CASE status WHEN 'refunded' THEN COALESCE(refunded_at, captured_at, created_at) END,
       attempts,
       CASE status WHEN 'refund_due' THEN COALESCE(next_attempt_at, now()) END,
       last_error
  FROM payments
 WHERE rest_minor > 0;

-- A refund that had been confirmed and then failed.
UPDATE orders_refund SET status = 'due', ended_at = NULL, next_attempt_at = now()
 WHERE id IN (
    SELECT DISTINCT ON (refund.payment_id) refund.id
      FROM orders_refund refund JOIN orders_payment payment ON payment.id = refund.payment_id
     WHERE payment.status = 'refund_due' AND refund.status = 'refunded'
       AND NOT EXISTS (SELECT FROM orders_refund other
                        WHERE other.payment_id = payment.id AND other.status = 'due')
     ORDER BY refund.payment_id, refund.amount_minor DESC);

UPDATE orders_payment SET attempts = 0, next_attempt_at = NULL, last_error = '' WHERE status = 'refund_due';

UPDATE orders_mail mail SET refund_id = refund.id
  FROM (SELECT DISTINCT ON (order_id) order_id, id
          FROM orders_refund
         WHERE status <> 'failed'
           AND NOT EXISTS (SELECT FROM orders_mail told WHERE told.refund_id = orders_refund.id)
         ORDER BY order_id, created_at DESC) refund
 WHERE mail.order_id = refund.order_id
   AND mail.kind = 'refunded' AND mail.sent_at IS NULL AND mail.refund_id IS NULL;

UPDATE orders_paymentevent SET kind = 'refund_paid' WHERE kind = 'part_refunded';
UPDATE orders_paymentevent SET kind = 'refund_failed' WHERE kind = 'part_refund_failed';
UPDATE orders_paymentevent SET outcome = 'refund_started' WHERE outcome = 'goes_back';
UPDATE orders_paymentevent SET outcome = 'refunded' WHERE outcome = 'part_refunded';
UPDATE simulated_payments_simulatedmessage SET body = replace(body, '"part_refunded"', '"refund_paid"')
 WHERE delivered_at IS NULL;

-- PostgreSQL does not change tables with checks that wait for the commit.
SET CONSTRAINTS ALL IMMEDIATE;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("orders", "0001_squashed"),
        ("simulated_payments", "0001_squashed"),
    ]

    operations = [
        migrations.AddField(
            model_name="refund",
            name="is_surplus",
            field=models.BooleanField(
                db_default=False, default=False, verbose_name="money that the order did not take"
            ),
        ),
        migrations.RemoveIndex(model_name="refund", name="orders_refund_due"),
        migrations.RemoveIndex(model_name="payment", name="orders_payment_to_refund"),
        migrations.RunSQL(ROWS, migrations.RunSQL.noop),
        migrations.RemoveField(model_name="refund", name="is_whole"),
        migrations.AddIndex(
            model_name="refund",
            index=models.Index(
                condition=models.Q(("status", "due")), fields=["next_attempt_at"], name="orders_refund_due"
            ),
        ),
    ]
