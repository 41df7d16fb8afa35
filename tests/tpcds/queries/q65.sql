-- Items that bring a store less than a tenth of the mean.
SELECT s_store_name, i_item_desc, sold.revenue, i_current_price
FROM store, item,
     (SELECT shop, avg(revenue) AS mean
      FROM (SELECT ss_store_sk AS shop, ss_item_sk, sum(ss_sales_price) AS revenue FROM store_sales, date_dim
            WHERE ss_sold_date_sk = d_date_sk AND d_month_seq BETWEEN 1176 AND 1187 GROUP BY ss_store_sk, ss_item_sk)
      GROUP BY shop) AS usual,
     (SELECT ss_store_sk AS shop, ss_item_sk AS item, sum(ss_sales_price) AS revenue FROM store_sales, date_dim
      WHERE ss_sold_date_sk = d_date_sk AND d_month_seq BETWEEN 1176 AND 1187 GROUP BY ss_store_sk, ss_item_sk) AS sold
WHERE usual.shop = sold.shop AND sold.revenue <= 0.02 * usual.mean AND s_store_sk = sold.shop AND i_item_sk = sold.item
ORDER BY s_store_name, i_item_desc, sold.revenue
