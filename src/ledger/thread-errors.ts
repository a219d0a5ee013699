/** @module The errors of the ledger that keep their type when they are passed between threads. */
import { ReaderLeftError } from '../resources/work-queue.ts'
import { ArchiveMissingError } from '../store/archive-missing-error.ts'
import { DerivedFileRenewedError } from '../store/derived-file.ts'
import { StoreUnavailableError } from '../store/event-store.ts'
import { errorKind } from '../workers/failure.ts'
import { DamagedIndexError } from './audit/audit-reads.ts'
import { isOfRows, ViewBehindError } from './read/view-behind.ts'

export const THREAD_ERRORS = [
  errorKind('reader-left', ReaderLeftError, { data: () => undefined, make: () => new ReaderLeftError() }),
  errorKind('index-damaged', DamagedIndexError, {
    data: ({ stream, revision }) => ({ stream, revision }),
    make: ({ stream, revision }) => new DamagedIndexError(stream, revision),
  }),
  errorKind('file-renewed', DerivedFileRenewedError, {
    data: ({ renewal }) => renewal,
    make: (renewal) => new DerivedFileRenewedError(renewal),
  }),
  errorKind('view-behind', ViewBehindError, {
    data: ({ view, message, cause }) => ({
      ...{ view, isOfRows: isOfRows(cause) },
      reason: cause instanceof Error ? cause.message : message,
    }),
    make: ({ view, isOfRows: ofRows, reason }) =>
      new ViewBehindError(view, ofRows ? new RangeError(reason) : new Error(reason)),
  }),
  errorKind('archive-missing', ArchiveMissingError, {
    data: ({ retryAfterMs }) => retryAfterMs,
    make: (retryAfterMs, message) => new ArchiveMissingError(message, retryAfterMs),
  }),
  errorKind('store-unavailable', StoreUnavailableError, {
    data: ({ retryAfterMs }) => retryAfterMs,
    make: (retryAfterMs, message) => new StoreUnavailableError(message, retryAfterMs),
  }),
]
