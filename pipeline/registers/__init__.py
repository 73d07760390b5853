"""One module a source. REGISTERS is the only list of them."""

from pipeline.registers import ee, uk_accounts, uk_basic
from pipeline.registers.register import Register

REGISTERS: dict[str, Register] = {
    register.source: register for register in (uk_basic.REGISTER, uk_accounts.REGISTER, ee.REGISTER)
}
