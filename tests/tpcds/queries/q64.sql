-- Things sold in the store in one year and the next, to people whose circumstances changed.
WITH refunded AS (
    SELECT cs_item_sk AS item, sum(cs_ext_list_price) AS sale, sum(cr_refunded_cash + cr_reversed_charge + cr_store_credit) AS refund
    FROM catalog_sales, catalog_returns
    WHERE cs_item_sk = cr_item_sk AND cs_order_number = cr_order_number
    GROUP BY cs_item_sk
    HAVING sum(cs_ext_list_price) > 0.5 * sum(cr_refunded_cash + cr_reversed_charge + cr_store_credit)
), sales AS (
    SELECT i_product_name AS product, i_item_sk AS item, s_store_name AS shop, d1.d_year AS year, d2.d_year AS first_sale, count(*) AS number,
           sum(ss_wholesale_cost) AS cost, sum(ss_list_price) AS list
    FROM store_sales, date_dim AS d1, date_dim AS d2, store, customer, customer_demographics AS cd1, customer_demographics AS cd2,
         household_demographics AS hd1, income_band AS ib1, customer_address AS ad1, item, refunded
    WHERE ss_store_sk = s_store_sk AND ss_sold_date_sk = d1.d_date_sk AND ss_customer_sk = c_customer_sk AND ss_cdemo_sk = cd1.cd_demo_sk
      AND ss_hdemo_sk = hd1.hd_demo_sk AND ss_addr_sk = ad1.ca_address_sk AND ss_item_sk = i_item_sk AND refunded.item = i_item_sk
      AND c_current_cdemo_sk = cd2.cd_demo_sk AND c_first_sales_date_sk = d2.d_date_sk AND hd1.hd_income_band_sk = ib1.ib_income_band_sk
      AND cd1.cd_marital_status <> cd2.cd_marital_status
    GROUP BY i_product_name, i_item_sk, s_store_name, d1.d_year, d2.d_year
)
SELECT a.product, a.shop, a.year, b.year AS later, a.number, b.number AS later_number, a.cost, b.cost AS later_cost, a.first_sale, b.first_sale AS later_first
FROM sales AS a, sales AS b
WHERE a.item = b.item AND a.shop = b.shop AND a.year < b.year
ORDER BY a.product, a.shop, a.year, later, a.first_sale, later_first
