/** @module How much memory a JSON value takes once it is parsed: an upper estimate of what V8 lays out, without making its text. */

/** V8 on 64 bits, rounded up: header, backing store and the slot in the parent. */
const OBJECT_BYTES = 72
const LIST_BYTES = 56
const MEMBER_BYTES = 24
const ELEMENT_BYTES = 8
const NUMBER_BYTES = 16
const STRING_BYTES = 32
/** A string with one character beyond Latin-1 takes two bytes for each. */
const CODE_UNIT_BYTES = 2

/** Keys repeat and are shared between values, but one that occurs once is a string of its own. */
const KEY_BYTES = 40

export function weigh(value: unknown): number {
  switch (typeof value) {
    case 'string':
      return STRING_BYTES + CODE_UNIT_BYTES * value.length
    case 'number':
      return NUMBER_BYTES
    case 'object':
      return value === null ? 0 : Array.isArray(value) ? weighList(value) : weighObject(value)
    default:
      return 0
  }
}

function weighList(list: readonly unknown[]): number {
  let bytes = LIST_BYTES
  for (const member of list) bytes += ELEMENT_BYTES + weigh(member)
  return bytes
}

function weighObject(value: object): number {
  let bytes = OBJECT_BYTES
  for (const key in value) {
    bytes += MEMBER_BYTES + KEY_BYTES + key.length + weigh((value as Readonly<Record<string, unknown>>)[key])
  }
  return bytes
}
