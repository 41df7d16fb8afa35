-- What the best customers bought by catalog and web of what is often sold.
WITH often AS (
    SELECT ss_item_sk AS item, count(*) AS times
    FROM store_sales JOIN date_dim ON ss_sold_date_sk = d_date_sk
    WHERE d_year IN (2000, 2001)
    GROUP BY ss_item_sk
    HAVING count(*) > 3
), best AS (
    SELECT ss_customer_sk AS customer, sum(ss_quantity * ss_sales_price) AS spent
    FROM store_sales
    GROUP BY ss_customer_sk
    HAVING sum(ss_quantity * ss_sales_price) > 0.5 * (
        SELECT max(total) FROM (SELECT sum(ss_quantity * ss_sales_price) AS total FROM store_sales GROUP BY ss_customer_sk))
)
SELECT sum(sales) AS sales
FROM (
    SELECT cs_quantity * cs_list_price AS sales FROM catalog_sales JOIN date_dim ON cs_sold_date_sk = d_date_sk
    WHERE d_year = 2000 AND cs_item_sk IN (SELECT item FROM often) AND cs_bill_customer_sk IN (SELECT customer FROM best)
    UNION ALL
    SELECT ws_quantity * ws_list_price FROM web_sales JOIN date_dim ON ws_sold_date_sk = d_date_sk
    WHERE d_year = 2000 AND ws_item_sk IN (SELECT item FROM often) AND ws_bill_customer_sk IN (SELECT customer FROM best)
)
