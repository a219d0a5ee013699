/** @module Where the tiles of a log are: `tile/<L>/<N>[.p/<W>]` and `tile/entries/<N>[.p/<W>]` (C2SP tlog-tiles). */

/** Hashes of a full tile, entries of a full bundle. */
export const TILE_WIDTH = 256
/** Levels of the tree that one tile spans. */
export const TILE_HEIGHT = 8
const LEVEL_MAX = 63

export interface TileId {
  /** Level of tiles, or `entries` for a bundle of the leaves' entries. */
  readonly level: number | 'entries'
  readonly index: number
  /** 1 to 256; less than 256 names a partial tile. */
  readonly width: number
}

/** Prints the path. Throws `RangeError` for what is no tile. */
export function tilePath({ level, index, width }: TileId): string {
  const isLevel = level === 'entries' || (Number.isInteger(level) && level >= 0 && level <= LEVEL_MAX)
  if (
    !isLevel ||
    !Number.isSafeInteger(index) ||
    index < 0 ||
    !Number.isInteger(width) ||
    width < 1 ||
    width > TILE_WIDTH
  ) {
    throw new RangeError(`there is no tile of level ${level}, index ${index} and width ${width}`)
  }
  return `tile/${level}/${indexPath(index)}${width === TILE_WIDTH ? '' : `.p/${width}`}`
}

/** Groups of three digits, all but the last marked: a folder and a file never share a name. */
function indexPath(index: number): string {
  const digits = String(index)
  const padded = digits.padStart(Math.ceil(digits.length / 3) * 3, '0')
  const groups = padded.match(/\d{3}/g) ?? []
  return groups.map((group, i) => (i < groups.length - 1 ? `x${group}` : group)).join('/')
}

const PATH = /^tile\/(entries|0|[1-9]\d?)\/((?:x\d{3}\/){0,5}\d{3})(?:\.p\/([1-9]\d{0,2}))?$/

/** The tile that a path names; undefined for anything but the one spelling that `tilePath` gives it. */
export function parseTilePath(path: string): TileId | undefined {
  const [, levelText = '', indexText = '', widthText] = PATH.exec(path) ?? []
  if (levelText === '') return undefined
  const level: TileId['level'] = levelText === 'entries' ? 'entries' : Number(levelText)
  const index = Number(indexText.replaceAll(/[x/]/g, ''))
  const width = widthText === undefined ? TILE_WIDTH : Number(widthText)
  if (level !== 'entries' && level > LEVEL_MAX) return undefined
  if (!Number.isSafeInteger(index) || width > TILE_WIDTH) return undefined
  const tile = { level, index, width }
  // Leading groups of zeros and a partial tile of full width are other spellings of a tile that has one.
  return tilePath(tile) === path ? tile : undefined
}

/** Width of a tile in a tree of `size` leaves: 256 where it is full, 0 where the tree does not reach it. */
export function tileWidth(level: number, index: number, size: number): number {
  const hashes = Math.floor(size / TILE_WIDTH ** level)
  return Math.max(0, Math.min(TILE_WIDTH, hashes - index * TILE_WIDTH))
}
