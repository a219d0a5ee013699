/**
 * @module Cursors into the history as clients carry them: sealed with the key ring, so that clients can neither see how much others write nor forge a
 * cursor.
 */
import { fromBase64url, toBase64url } from '../../signing/base64url.ts'
import { ringIndex } from '../../signing/key-ring.ts'
import { deriveTextKeys, openText, sealText, type TextKeys } from '../../signing/sealed-text.ts'
import type { Sealer } from '../identity/sealer.ts'
import type { SealedPlaces } from '../ledger.ts'

const KEY_INFO = 'countersign/place-key/v1\n'
const VERSION = 2
/** Version and index of the key in the ring, which never changes. */
const HEAD_BYTES = 3

export class RingSealedPlaces implements SealedPlaces {
  readonly #sealer: Pick<Sealer, 'ring' | 'kid' | 'reload'>
  /** By kid; bounded by the number of keys in the ring. */
  readonly #keys = new Map<string, TextKeys>()

  constructor(sealer: Pick<Sealer, 'ring' | 'kid' | 'reload'>) {
    this.#sealer = sealer
  }

  seal(name: string, text: string): string {
    const index = ringIndex(this.#sealer.ring, this.#sealer.kid)
    const keys = this.#keysAt(index)
    if (keys === undefined) throw new TypeError(`the ring holds no key ${this.#sealer.kid}`)
    const head = Buffer.from([VERSION, index >> 8, index & 0xff])
    return toBase64url(Buffer.concat([head, sealText(keys, name, text)]))
  }

  open(name: string, sealed: string): string | undefined {
    const bytes = fromBase64url(sealed)
    if (bytes === undefined || bytes.length <= HEAD_BYTES || bytes[0] !== VERSION) return undefined
    const index = Buffer.from(bytes).readUInt16BE(1)
    // Another process may have sealed it with a key that is new to this one.
    if (index >= this.#sealer.ring.keys.length) this.#sealer.reload()
    const keys = this.#keysAt(index)
    return keys && openText(keys, name, bytes.subarray(HEAD_BYTES))
  }

  #keysAt(index: number): TextKeys | undefined {
    const key = this.#sealer.ring.keys[index]
    if (key === undefined) return undefined
    const known = this.#keys.get(key.kid)
    if (known !== undefined) return known
    const keys = deriveTextKeys(key.secret, KEY_INFO)
    this.#keys.set(key.kid, keys)
    return keys
  }
}
