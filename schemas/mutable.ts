/** @module A type whose members may be set one by one while it is made. */
export type Mutable<T> = { -readonly [K in keyof T]: T[K] }
