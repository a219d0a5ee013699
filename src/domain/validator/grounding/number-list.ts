/** @module A growing list of unsigned 32-bit numbers: four bytes each. */

const FIRST_SIZE = 64

export class NumberList {
  #numbers = new Uint32Array(FIRST_SIZE)
  #length = 0

  get length(): number {
    return this.#length
  }

  get bytes(): number {
    return this.#numbers.byteLength
  }

  push(...numbers: readonly number[]): void {
    if (this.#length + numbers.length > this.#numbers.length) {
      const grown = new Uint32Array(2 * this.#numbers.length + numbers.length)
      grown.set(this.#numbers)
      this.#numbers = grown
    }
    this.#numbers.set(numbers, this.#length)
    this.#length += numbers.length
  }

  at(place: number): number {
    return this.#numbers[place] ?? 0
  }

  dump(): string {
    return Buffer.from(this.#numbers.buffer, 0, 4 * this.#length).toString('base64')
  }

  load(text: string): void {
    const bytes = Buffer.from(text, 'base64')
    this.#length = bytes.length >> 2
    this.#numbers = new Uint32Array(Math.max(FIRST_SIZE, this.#length))
    for (let i = 0; i < this.#length; i++) this.#numbers[i] = bytes.readUInt32LE(4 * i)
  }
}
