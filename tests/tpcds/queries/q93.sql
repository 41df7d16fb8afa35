-- What customers really paid, when returns for one reason are taken off.
SELECT customer, sum(paid) AS sales
FROM (SELECT ss_customer_sk AS customer, CASE WHEN sr_return_quantity IS NOT NULL THEN (ss_quantity - sr_return_quantity) * ss_sales_price ELSE ss_quantity * ss_sales_price END AS paid
      FROM store_sales LEFT OUTER JOIN store_returns ON sr_item_sk = ss_item_sk AND sr_ticket_number = ss_ticket_number, reason
      WHERE sr_reason_sk = r_reason_sk AND r_reason_desc IN ('Package was damaged', 'Stopped working', 'Parts missing', 'Gift exchange')) AS t
GROUP BY customer
ORDER BY sales, customer
