/** @module Form bodies: limited in size while they are read; each member may occur once. */
import type { DashboardContext } from './deps.ts'

/** Room for a token of 8 KiB and the other members of its form. */
const FORM_MAX_BYTES = 32 * 1024

/** Undefined for a body that is too large, truncated, or not a form. */
export async function readForm(c: DashboardContext): Promise<ReadonlyMap<string, string> | undefined> {
  const type = c.req.header('content-type') ?? ''
  if (!/^application\/x-www-form-urlencoded(;|$)/i.test(type)) return undefined
  const bytes = await readBytes(c.req.raw.body)
  if (bytes === undefined) return undefined
  const members = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(bytes.toString())) {
    if (members.has(name)) return undefined
    members.set(name, value)
  }
  return members
}

async function readBytes(body: ReadableStream<Uint8Array> | null): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of body ?? []) {
      size += chunk.byteLength
      if (size > FORM_MAX_BYTES) return undefined
      chunks.push(chunk)
    }
  } catch {
    return undefined
  }
  return Buffer.concat(chunks)
}
