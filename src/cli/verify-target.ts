/** @module What can be verified: a store's file or an export, read to its end whatever it holds. */
import { createReadStream } from 'node:fs'
import { openServerScan, openStoreScan } from '../compose.ts'
import { StoreOpenError } from '../store/event-store.ts'
import { type ReadCheckpoint, withCheckpoint } from '../verify/checkpoint-check.ts'
import { type ExportTrailer, exportPages } from '../verify/export-records.ts'
import { type VerifyFault, verdictOf } from '../verify/fault.ts'
import {
  type SourceItem,
  type SourcePages,
  type VerifyOptions,
  type VerifyResult,
  verifyRecords,
} from '../verify/verify-records.ts'
import { checkView } from '../verify/view-export.ts'
import { CliFailure, EXIT } from './failure.ts'

export interface VerifyTarget {
  readonly kind: 'store' | 'server' | 'export' | 'view'
  /** Path, a server's URL without its credentials, or `-` for an export on standard input. */
  readonly name: string
  /** Of a view: which format it is in. */
  readonly format?: string
  /** The server's whole URL. */
  readonly url?: string
}

export type TargetOptions = Omit<VerifyOptions, 'wholeStore' | 'again'> & {
  /** Called once the source is open, with about as many events as it holds where that is known. */
  readonly onOpen?: (expected: number | undefined) => void
  /** What the history is held against. */
  readonly checkpoint?: Extract<ReadCheckpoint, { ok: true }>
}

export interface FoundVerdict {
  readonly result: VerifyResult
  readonly trailer?: ExportTrailer | undefined
}

/** Throws nothing for what a file may hold: damage is a fault, and what cannot be opened is INCOMPLETE. */
export async function verifyTarget(target: VerifyTarget, options: TargetOptions): Promise<FoundVerdict> {
  try {
    if (target.url !== undefined) return { result: await verifyServer(target.url, options) }
    if (target.kind === 'view') return { result: await verifyView(target, options) }
    return target.kind === 'store'
      ? { result: await verifyStore(target.name, options) }
      : await verifyExport(target.name, options)
  } catch (error) {
    if (!(error instanceof Error)) throw error
    const closed = error instanceof StoreOpenError || 'code' in error
    if (closed) return { result: unread({ code: 'unreadable', message: error.message }, options) }
    throw new CliFailure(`the verification could not be finished: ${error.message}`, EXIT.unproven, { cause: error })
  }
}

async function verifyStore(path: string, options: TargetOptions): Promise<VerifyResult> {
  using scan = openStoreScan(path)
  options.onOpen?.(scan.expected)
  const thorough = options.depth !== 'fast'
  const pages = function* (): Generator<readonly SourceItem[], void> {
    yield* scan.pages()
    yield scan.structure(thorough)
  }
  return await verifyRecords(heldAgainst(pages(), options), { ...options, wholeStore: true, again: () => scan.pages() })
}

async function verifyServer(url: string, options: TargetOptions): Promise<VerifyResult> {
  options.onOpen?.(undefined)
  const again = (): SourcePages => openServerScan(url)
  return await verifyRecords(heldAgainst(again(), options), { ...options, wholeStore: true, again })
}

async function verifyExport(path: string, options: TargetOptions): Promise<FoundVerdict> {
  const stdin = path === '-'
  let trailer: ExportTrailer | undefined
  const onTrailer = (found: ExportTrailer): void => {
    trailer = found
  }
  options.onOpen?.(undefined)
  const pages: SourcePages = exportPages(stdin ? process.stdin : createReadStream(path), { onTrailer })
  const again = stdin ? {} : { again: () => exportPages(createReadStream(path)) }
  const result = await verifyRecords(heldAgainst(pages, options), { ...options, ...again })
  if (trailer?.filter === undefined) return { result, trailer }
  return { result: { ...result, unchecked: [...result.unchecked, QUERY_EXPORT] }, trailer }
}

async function verifyView({ name, format = '' }: VerifyTarget, options: TargetOptions): Promise<VerifyResult> {
  options.onOpen?.(undefined)
  return unread(await checkView(createReadStream(name), format), options)
}

const QUERY_EXPORT =
  'links between events, and whether all that answer the query are here: a bundle (export --bundle) proves that'

function heldAgainst(pages: SourcePages, { checkpoint }: TargetOptions): SourcePages {
  return checkpoint === undefined ? pages : withCheckpoint(pages, checkpoint)
}

/** Nothing, or no more, could be read: that is an answer too. */
function unread(fault: VerifyFault, options: VerifyOptions): VerifyResult {
  options.onFault(fault)
  return { verdict: verdictOf(fault.code), events: 0, streams: 0, faults: 1, behindClock: 0, unchecked: [] }
}
