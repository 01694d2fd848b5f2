// The error about a name that the configuration does not have: what was probably meant, and the names there are.

import { ConfigError } from './errors.ts'
import { suggestNearest } from './suggest.ts'

const NAME_CHARS_MAX = 40
const NAMES_SHOWN = 30

/** @param kind of what is named, such as `connection` @param names those that there are */
export function unknownName(
  { file }: { readonly file: string },
  kind: string,
  name: string,
  names: readonly string[],
): ConfigError {
  const shown = name.slice(0, NAME_CHARS_MAX).replaceAll(/\p{C}/gu, ' ')
  const more = names.length - NAMES_SHOWN
  const list = names.slice(0, NAMES_SHOWN).join(', ') || 'none'
  return new ConfigError(file, [
    {
      message: `there is no ${kind} "${shown}"${suggestNearest(name, names)}; there is: ${list}${more > 0 ? ` and ${more} more` : ''}`,
    },
  ])
}
