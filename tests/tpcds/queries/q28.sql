-- Prices of six buckets of sales, side by side.
SELECT *
FROM (SELECT avg(ss_list_price) AS b1_average, count(ss_list_price) AS b1_count, count(DISTINCT ss_list_price) AS b1_prices
      FROM store_sales WHERE ss_quantity BETWEEN 0 AND 5 AND (ss_list_price BETWEEN 8 AND 18 OR ss_wholesale_cost BETWEEN 57 AND 77)) AS b1
CROSS JOIN
     (SELECT avg(ss_list_price) AS b2_average, count(ss_list_price) AS b2_count, count(DISTINCT ss_list_price) AS b2_prices
      FROM store_sales WHERE ss_quantity BETWEEN 6 AND 10 AND (ss_coupon_amt BETWEEN 459 AND 1459 OR ss_wholesale_cost BETWEEN 31 AND 51)) AS b2
CROSS JOIN
     (SELECT avg(ss_list_price) AS b3_average, count(ss_list_price) AS b3_count, count(DISTINCT ss_list_price) AS b3_prices
      FROM store_sales WHERE ss_quantity BETWEEN 11 AND 15 AND ss_list_price BETWEEN 142 AND 152) AS b3
