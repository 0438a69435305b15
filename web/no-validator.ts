/** Stands where the form library's tests would have their validator. */
export default undefined
