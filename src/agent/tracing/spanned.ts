/** @module Runs work in a span and reports errors by code or class only, because an error message may contain data of the call. */
import { RunWaiting } from '../errors.ts'
import type { SpanAttributes, TraceSpan } from './trace-span.ts'

/** The value of `error.type`; undefined if the run is only waiting, which is not a failure. */
export function failureTypeOf(error: unknown): string | undefined {
  if (error instanceof RunWaiting) return undefined
  if (!(error instanceof Error)) return '_OTHER'
  const code = 'code' in error ? error.code : undefined
  return typeof code === 'string' && code !== '' ? code : error.name
}

/** Runs the work of a span and ends the span. */
export async function spanned<T>(
  span: TraceSpan,
  work: () => Promise<T>,
  describe?: (value?: T) => { readonly attributes: SpanAttributes; readonly failure?: string | undefined },
): Promise<T> {
  let value: T | undefined
  let failure: string | undefined
  try {
    value = await work()
    return value
  } catch (error) {
    failure = failureTypeOf(error)
    throw error
  } finally {
    const end = describe?.(value)
    if (end !== undefined) span.set(end.attributes)
    span.end(failure ?? end?.failure)
  }
}
