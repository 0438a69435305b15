/** The columns of a run, in narrow and in wide windows. */
export const RUN_COLUMNS =
  'grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 gap-y-0.5 px-3 md:grid-cols-[minmax(0,1fr)_11rem_11rem_4.5rem_4.5rem_5.5rem_8.5rem]'
