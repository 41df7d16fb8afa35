-- store_sales, store_returns, reason
SELECT * FROM store_sales, store_returns, reason
WHERE sr_item_sk = ss_item_sk AND sr_ticket_number = ss_ticket_number AND sr_reason_sk = r_reason_sk
  AND r_reason_desc IN ('Package was damaged', 'Stopped working', 'Parts missing', 'Gift exchange') AND ss_customer_sk <=> {customer}
