-- Weekly sales of a store against those of the week a year later.
WITH weekly AS (
    SELECT d_week_seq AS week, ss_store_sk AS shop, sum(CASE WHEN d_day_name = 'Sunday' THEN ss_sales_price END) AS sunday,
           sum(CASE WHEN d_day_name = 'Thursday' THEN ss_sales_price END) AS thursday
    FROM store_sales, date_dim WHERE d_date_sk = ss_sold_date_sk
    GROUP BY d_week_seq, ss_store_sk
)
SELECT s_store_name, y.week, y.sunday / x.sunday AS sunday, y.thursday / x.thursday AS thursday
FROM weekly AS y, weekly AS x, store,
     (SELECT DISTINCT d_week_seq AS week FROM date_dim WHERE d_month_seq BETWEEN 1212 AND 1213) AS weeks
WHERE y.week = weeks.week AND y.shop = s_store_sk AND x.shop = y.shop AND x.week = y.week + 52
ORDER BY s_store_name, y.week
