-- How much customers of one kind of thing spend in the stores of their state, in steps of fifty.
WITH mine AS (
    SELECT DISTINCT c_customer_sk AS customer, c_current_addr_sk AS address
    FROM (SELECT cs_sold_date_sk AS day_sk, cs_bill_customer_sk AS customer_sk, cs_item_sk AS item_sk FROM catalog_sales
          UNION ALL
          SELECT ws_sold_date_sk, ws_bill_customer_sk, ws_item_sk FROM web_sales) AS sold, item, date_dim, customer
    WHERE day_sk = d_date_sk AND item_sk = i_item_sk AND i_category = 'Women' AND c_customer_sk = customer_sk AND d_moy = 12 AND d_year = 1998
), revenue AS (
    SELECT customer, sum(ss_ext_sales_price) AS revenue
    FROM mine, store_sales, customer_address, date_dim
    WHERE address = ca_address_sk AND ss_sold_date_sk = d_date_sk AND customer = ss_customer_sk
      AND d_month_seq BETWEEN (SELECT DISTINCT d_month_seq + 1 FROM date_dim WHERE d_year = 1998 AND d_moy = 12)
                          AND (SELECT DISTINCT d_month_seq + 6 FROM date_dim WHERE d_year = 1998 AND d_moy = 12)
    GROUP BY customer
), steps AS (SELECT CAST(revenue / 5000 AS int) AS step FROM revenue)
SELECT step, count(*) AS customers, step * 5000 AS base FROM steps GROUP BY step ORDER BY step, customers
