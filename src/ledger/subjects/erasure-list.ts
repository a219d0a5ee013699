/**
 * @module The list of erasures: what a copy of store and keys from before does not know. One sealed line for each erasure, and for each file of
 * keys how many it held, so that one that is lost or older is told from one that never was (LIFE-13, LIFE-14).
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
/** A file of subject keys, and how many keys were made in it, those that are destroyed among them. */
export type NotedKeyFile = z.infer<typeof KeyFile>

export interface Listed {
  readonly erasures: readonly ListedErasure[]
  readonly keyFiles: readonly NotedKeyFile[]
}

/** Where the list is kept. What it is given is durable when the call returns. */
export interface ErasureList {
  readonly listed: Listed
  /** Somebody handed a list to this start: what was erased after the copies were made is in it. */
  readonly isGiven: boolean
  add(erasure: ListedErasure): void
  noteKeys(file: NotedKeyFile): void
}

interface Sealing {
  readonly seal: (text: string) => string
  readonly holds: (text: string, seal: string) => boolean
}

/** With its newline. */
export function erasureLine(
  entry: { readonly erased: ListedErasure } | { readonly keyFile: NotedKeyFile },
  by: Sealing,
): string {
  return `${JSON.stringify({ v: 1, ...entry, seal: by.seal(sealedText(entry)) })}\n`
}

/** `line`: the first one that is not as it was sealed, from 1. What stands behind the last newline was never finished, and nothing was destroyed by it. */
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

/** With a first line of its own: what one file is sealed with says nothing in another. */
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
