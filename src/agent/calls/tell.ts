/** @module Calls a notice callback of the program; an error in the callback does not make a call fail. */
import { thrownText } from '../thrown.ts'

export function tell<Notice>(option: string, notice: ((told: Notice) => unknown) | undefined, told: Notice): void {
  const failed = (error: unknown): void => {
    process.emitWarning(`${option} has thrown, and was passed over: ${thrownText(error)}`, {
      code: 'COUNTERSIGN_NOTICE',
    })
  }
  try {
    const given = notice?.(told)
    if (given instanceof Promise) given.catch(failed)
  } catch (error) {
    failed(error)
  }
}
