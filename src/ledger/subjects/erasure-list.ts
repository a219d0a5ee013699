/**
 * @module The list of erasures, which an older copy of store and keys does not know. It has one sealed line per erasure, and one per count of keys in
 * a file of keys, so that a lost or older file is distinguished from one that never existed (LIFE-13, LIFE-14).
 */
import { z } from 'zod'
import { parseJsonOrUndefined } from '../../../schemas/json.ts'
import { Tenant } from '../../../schemas/names.ts'
import { Uuid } from '../../../schemas/values.ts'

const Erased = z.strictObject({ at: z.string(), tenant: Tenant, request: Uuid, keyIds: z.array(Uuid).min(1) })
const KeyFile = z.strictObject({ id: Uuid, keys: z.int().min(0) })
const Line = z.strictObject({
  v: z.literal(1),
  erased: Erased.optional(),
  keyFile: KeyFile.optional(),
  seal: z.string(),
})

export type ListedErasure = z.infer<typeof Erased>
/** A file of subject keys, and the number of keys that were created in it, including destroyed ones. */
export type NotedKeyFile = z.infer<typeof KeyFile>

export interface Listed {
  readonly erasures: readonly ListedErasure[]
  readonly keyFiles: readonly NotedKeyFile[]
}

/** Where the list is kept. Entries are durable when the call returns. */
export interface ErasureList {
  readonly listed: Listed
  /** Whether a list was supplied to this start: it has the erasures made after the copies of store and keys. */
  readonly isGiven: boolean
  add(erasure: ListedErasure): void
  noteKeys(file: NotedKeyFile): void
}

interface Sealing {
  readonly seal: (text: string) => string
  readonly holds: (text: string, seal: string) => boolean
}

/** The line, with its newline. */
export function erasureLine(
  entry: { readonly erased: ListedErasure } | { readonly keyFile: NotedKeyFile },
  by: Sealing,
): string {
  return `${JSON.stringify({ v: 1, ...entry, seal: by.seal(sealedText(entry)) })}\n`
}

/**
 * `line`: number of the first line that is not as it was sealed, from 1. Text after the last newline was never completed, and nothing was destroyed
 * because of it.
 */
export function parseErasures(
  text: string,
  by: Sealing,
): { readonly ok: true; readonly listed: Listed } | { readonly ok: false; readonly line: number } {
  const erasures: ListedErasure[] = []
  const keyFiles: NotedKeyFile[] = []
  for (const [at, written] of text.split('\n').slice(0, -1).entries()) {
    const line = Line.safeParse(parseJsonOrUndefined(written))
    if (!line.success) return { ok: false, line: at + 1 }
    const { erased, keyFile, seal } = line.data
    if (!by.holds(sealedText({ erased, keyFile }), seal)) return { ok: false, line: at + 1 }
    if (erased !== undefined) erasures.push(erased)
    if (keyFile !== undefined) keyFiles.push(keyFile)
  }
  return { ok: true, listed: { erasures, keyFiles } }
}

/** Begins with a line of its own, so that a seal of one kind of file is not valid in another. */
function sealedText({
  erased,
  keyFile,
}: {
  readonly erased?: ListedErasure | undefined
  readonly keyFile?: NotedKeyFile | undefined
}): string {
  const of = erased && [erased.at, erased.tenant, erased.request, erased.keyIds]
  return `erasure-list\n${JSON.stringify([of ?? null, keyFile ? [keyFile.id, keyFile.keys] : null])}`
}
