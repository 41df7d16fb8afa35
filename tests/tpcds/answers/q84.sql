-- customer, customer_address, customer_demographics, household_demographics, income_band
SELECT * FROM customer, customer_address, customer_demographics, household_demographics, income_band
WHERE c_customer_id = {id} AND c_current_addr_sk = ca_address_sk AND ib_income_band_sk = hd_income_band_sk AND cd_demo_sk = c_current_cdemo_sk
  AND hd_demo_sk = c_current_hdemo_sk
-- store_returns
SELECT * FROM store_returns, customer WHERE sr_customer_sk = c_customer_sk AND c_customer_id = {id}
