const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

/** The operators of an expression, by the functions behind them. */
export const OPERATORS = words(`
  add subtract multiply divide dotMultiply dotDivide pow dotPow mod unaryMinus unaryPlus factorial ctranspose
  bitAnd bitOr bitXor bitNot leftShift rightArithShift rightLogShift
  and or xor not equal unequal smaller smallerEq larger largerEq to
`)

/** The functions of an expression: each gives a value from values, in a time and space that its arguments bound. */
export const FUNCTIONS = words(`
  abs cbrt ceil cube exp expm1 fix floor gcd hypot lcm log log10 log1p log2 mod nthRoot pow round sign sqrt square
  add subtract multiply divide unaryMinus unaryPlus dotMultiply dotDivide dotPow
  acos acosh acot acoth acsc acsch asec asech asin asinh atan atan2 atanh
  cos cosh cot coth csc csch sec sech sin sinh tan tanh
  factorial gamma lgamma combinations permutations isPrime erf
  max min mean median mode sum prod std variance mad cumsum count
  matrix size transpose ctranspose det inv trace dot cross norm identity zeros ones flatten sort
  complex re im arg conj
  number bignumber fraction boolean string unit to
  and or xor not equal unequal smaller smallerEq larger largerEq compare deepEqual
  bitAnd bitOr bitXor bitNot leftShift rightArithShift rightLogShift
  isInteger isNegative isNumeric isPositive isZero isNaN typeOf
`)

/** The names that stand for a value; units come on top of these. */
export const CONSTANTS = words(`
  pi PI e E tau phi i LN2 LN10 LOG2E LOG10E SQRT1_2 SQRT2
  atomicMass avogadro bohrMagneton bohrRadius boltzmann classicalElectronRadius conductanceQuantum coulomb
  coulombConstant deuteronMass efimovFactor electricConstant electronMass elementaryCharge faraday fermiCoupling
  fineStructure firstRadiation gasConstant gravitationConstant gravity hartreeEnergy inverseConductanceQuantum
  klitzing loschmidt magneticConstant magneticFluxQuantum molarMass molarMassC12 molarPlanckConstant molarVolume
  neutronMass nuclearMagneton planckCharge planckConstant planckLength planckMass planckTemperature planckTime
  protonMass quantumOfCirculation reducedPlanckConstant rydberg sackurTetrode secondRadiation speedOfLight
  stefanBoltzmann thomsonCrossSection vacuumImpedance weakMixingAngle wienDisplacement
`)

/** What the parts of the language are called that an expression may not use. */
export const REFUSED_SYNTAX: ReadonlyMap<string, string> = new Map([
  ['AssignmentNode', 'an assignment'],
  ['FunctionAssignmentNode', 'a function definition'],
  ['RangeNode', 'a range'],
  ['AccessorNode', 'access to a part of a value'],
  ['IndexNode', 'an index'],
  ['BlockNode', 'more than one expression'],
  ['ObjectNode', 'an object'],
])
