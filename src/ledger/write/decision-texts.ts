/** @module The canonical texts of one decision: a payload is written once, for the size, the digest, the request's mark and the body of the event. */
import { Buffer } from 'node:buffer'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { canonicalJson, canonicalObject } from '../../signing/canonical-json.ts'
import { textDigest } from '../../signing/digests.ts'

export class DecisionTexts {
  /** Of objects that nobody changes while the decision is made. */
  readonly #texts = new Map<object, string>()

  readonly digestOf = (value: Json | object): string => textDigest(this.#textOf(value as Json))

  readonly sizeOf = (value: Json): number => Buffer.byteLength(this.#textOf(value))

  /** The canonical text of an event's or a request's body, in which values stand whose text is known. */
  bodyText(body: JsonObject): string {
    return canonicalObject(body, (member) => (isJsonObject(member) ? this.#textOf(member) : canonicalJson(member)))
  }

  #textOf(value: Json): string {
    if (typeof value !== 'object' || value === null) return canonicalJson(value)
    const known = this.#texts.get(value)
    if (known !== undefined) return known
    const text = canonicalJson(value)
    this.#texts.set(value, text)
    return text
  }
}
