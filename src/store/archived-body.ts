/**
 * @module Bodies of events that were moved to an archive (LIFE-50): what a row holds in their place, and the line of the archive that has them. The header
 * stays in the row, and says with the digest that was sealed which body is the right one, so neither the row nor the archive has to be trusted.
 */

/** What the rows of one archive get in place of salt and body. */
export interface MovedBodies {
  /** Name of the archive: its file without the extension. */
  readonly archive: string
  readonly rows: readonly MovedRow[]
}

export interface MovedRow {
  readonly position: string
  /** Where the event's line is in the file, in bytes, without its line feed. */
  readonly offset: number
  readonly bytes: number
}

/** Where a body is. */
export interface BodyPlace {
  readonly archive: string
  readonly offset: number
  readonly bytes: number
}

const PLACE = /^archived:([a-z0-9][a-z0-9-]{0,80}):(\d{1,15}):(\d{1,9})$/

export function placeText({ archive, offset, bytes }: BodyPlace): string {
  return `archived:${archive}:${offset}:${bytes}`
}

/** Undefined for the text of a body, which is JSON. */
export function placeIn(text: string): BodyPlace | undefined {
  if (!text.startsWith('archived:')) return undefined
  const [, archive, offset, bytes] = PLACE.exec(text) ?? []
  return archive === undefined ? undefined : { archive, offset: Number(offset), bytes: Number(bytes) }
}

/** Salt and body in a line of an archive, which is that of an export; undefined if it is not the line of this event. */
export function bodyInLine(
  line: string,
  header: string,
): { readonly salt: Uint8Array; readonly data: string } | undefined {
  const before = `{"header":${header},"salt":"`
  if (!line.startsWith(before) || !line.endsWith('}')) return undefined
  const saltEnd = line.indexOf('"', before.length)
  const between = '","data":'
  if (saltEnd < 0 || !line.startsWith(between, saltEnd)) return undefined
  const salt = Buffer.from(line.slice(before.length, saltEnd), 'base64url')
  return { salt, data: line.slice(saltEnd + between.length, -1) }
}
