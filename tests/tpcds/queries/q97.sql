-- Customers and items in the store only, by catalog only, and in both.
WITH s AS (SELECT ss_customer_sk AS customer, ss_item_sk AS item FROM store_sales, date_dim WHERE ss_sold_date_sk = d_date_sk AND d_month_seq BETWEEN 1200 AND 1211 GROUP BY ss_customer_sk, ss_item_sk),
c AS (SELECT cs_bill_customer_sk AS customer, cs_item_sk AS item FROM catalog_sales, date_dim WHERE cs_sold_date_sk = d_date_sk AND d_month_seq BETWEEN 1200 AND 1211 GROUP BY cs_bill_customer_sk, cs_item_sk)
SELECT sum(CASE WHEN s.customer IS NOT NULL AND c.customer IS NULL THEN 1 ELSE 0 END) AS store_only,
       sum(CASE WHEN s.customer IS NULL AND c.customer IS NOT NULL THEN 1 ELSE 0 END) AS catalog_only,
       sum(CASE WHEN s.customer IS NOT NULL AND c.customer IS NOT NULL THEN 1 ELSE 0 END) AS in_both
FROM s FULL OUTER JOIN c ON s.customer = c.customer AND s.item = c.item
